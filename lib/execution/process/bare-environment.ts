/** Returns an environment of exactly these variables. (Node's type requires more; the system does not.) */
export function bareEnvironment(variables: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return { ...variables } as NodeJS.ProcessEnv;
}
