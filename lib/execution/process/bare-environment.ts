/** An environment of exactly these variables. (The type of Node's own environment asks for more, the system does not.) */
export function bareEnvironment(variables: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return { ...variables } as NodeJS.ProcessEnv;
}
