import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

export const REPOSITORY = join(import.meta.dirname, "../../..");
/** Files that read texts of tenants, commands, receivers and clients. */
const READERS =
  /^(?:lib\/(?:execution\/(?:output|retry-after|unicode)|webhooks\/delivery|text\/|queue\/.*\.policy\.ts|contract\/scan|api\/(?:remote|http\/(?:input|etag)|resources\/filters)|auth\/(?:api-key|cookies|safe)|client\/jobs\/(?:terminal|hidden)|observability|db\/statement)|web\/front\/(?:check|client))/;

/** Returns the files that match READERS. */
export const readerFiles = (): string[] =>
  execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "lib/*.ts", "web/*.ts"], {
    cwd: REPOSITORY,
    encoding: "utf8",
  })
    .split("\n")
    .filter((file) => READERS.test(file) && !/\.test\.ts$|fixture/.test(file));

/** An exported function with its parameters' types as written. */
interface ExportedFunction {
  readonly name: string;
  readonly parameters: readonly string[];
}

/** Returns the exported functions of a file. */
export function functionsIn(file: string): ExportedFunction[] {
  const source = ts.createSourceFile(file, readFileSync(join(REPOSITORY, file), "utf8"), ts.ScriptTarget.Latest, true);
  return source.statements.flatMap((statement) => {
    const isExported =
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    if (!isExported) return [];
    const functions = ts.isFunctionDeclaration(statement)
      ? [{ name: statement.name?.text ?? "", made: statement as ts.SignatureDeclaration }]
      : ts.isVariableStatement(statement)
        ? statement.declarationList.declarations.flatMap(({ name, initializer }) =>
            initializer && ts.isArrowFunction(initializer)
              ? [{ name: name.getText(source), made: initializer as ts.SignatureDeclaration }]
              : [],
          )
        : [];
    return functions.map(({ name, made }) => ({
      name,
      parameters: made.parameters.map(({ type }) => type?.getText(source).replace(/\s+/g, " ") ?? "unknown"),
    }));
  });
}
