/*
 * Compares the statements of the product with the database: finds each call of `run` in the sources, with the row and
 * the values that it declares, and asks PostgreSQL how it describes the same statement.
 *
 * Start with `statementCalls` below, then `describe.ts` (what PostgreSQL says) and `compare.ts` (the differences).
 */

import path from "node:path";
import ts from "typescript";

/** A place in the product that runs a statement. */
export interface StatementCall {
  /** `file:line`, from the repository's root. */
  readonly at: string;
  /** Where its statements are made, if the call names them; two if it chooses between them. */
  readonly statements: readonly StatementPlace[];
  /** The text of the first argument. */
  readonly text: string;
  /** The declared row; null if the call does not read rows. */
  readonly row: readonly RowField[] | null;
  /** The values, if they are written out in the call; null for a list that is built elsewhere. */
  readonly values: readonly TypeShape[] | null;
}

/** A module's constant, and the name that the call of `statement` gives it. */
interface StatementPlace {
  readonly file: string;
  readonly constant: string;
  readonly name: string | null;
}

export interface RowField extends TypeShape {
  readonly name: string;
  readonly isOptional: boolean;
}

/** What a TypeScript type admits, as far as a database can tell. */
export interface TypeShape {
  /** The kinds of its members; "any" for unknown and any. */
  readonly kinds: ReadonlySet<Kind>;
  readonly isNullable: boolean;
  /** The kinds of the elements of an array; null for other types. */
  readonly element: TypeShape | null;
}

export type Kind = "string" | "number" | "boolean" | "Date" | "Buffer" | "array" | "object" | "any";

const PRODUCT = /^(?:lib|worker|scheduler|web|admin|jobs|app)\//;
const NOT_PRODUCT = /\.(?:test|fixture)\.tsx?$|^lib\/testing\//;

/** Finds each call of `run` of a pool, a transaction or a session in the product's sources. */
export function statementCalls(root: string): StatementCall[] {
  const { config } = ts.readConfigFile(path.join(root, "tsconfig.json"), ts.sys.readFile);
  const { fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const sources = fileNames.filter((file) => isProduct(path.relative(root, file)));
  const program = ts.createProgram(sources, { ...options, noEmit: true, incremental: false });
  const checker = program.getTypeChecker();
  const calls: StatementCall[] = [];
  for (const source of program.getSourceFiles()) {
    if (!isProduct(path.relative(root, source.fileName))) continue;
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node) && isRun(checker, node)) calls.push(readCall(checker, { root, source, node }));
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return calls;
}

const isProduct = (file: string): boolean => PRODUCT.test(file) && !NOT_PRODUCT.test(file);

/** True for a call of the method that lib/db declares. */
function isRun(checker: ts.TypeChecker, { expression }: ts.CallExpression): boolean {
  if (!ts.isPropertyAccessExpression(expression) || expression.name.text !== "run") return false;
  const declared = checker.getSymbolAtLocation(expression.name)?.declarations ?? [];
  return declared.some((node) => /\/lib\/db\/(?:types|session)\.ts$/.test(node.getSourceFile().fileName));
}

function readCall(
  checker: ts.TypeChecker,
  { root, source, node }: { root: string; source: ts.SourceFile; node: ts.CallExpression },
): StatementCall {
  const [given, values] = node.arguments;
  if (!given) throw new Error(`${source.fileName}: run without a statement`);
  const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
  return {
    at: `${path.relative(root, source.fileName)}:${line + 1}`,
    statements: declaredAt(checker, given),
    text: given.getText(source),
    row: rowOf(checker, node),
    values: valuesOf(checker, values),
  };
}

function declaredAt(checker: ts.TypeChecker, given: ts.Expression): readonly StatementPlace[] {
  if (ts.isConditionalExpression(given))
    return [...declaredAt(checker, given.whenTrue), ...declaredAt(checker, given.whenFalse)];
  const named = ts.isElementAccessExpression(given) || ts.isCallExpression(given) ? given.expression : given;
  if (!ts.isIdentifier(named)) return [];
  let symbol = checker.getSymbolAtLocation(named);
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
  const declaration = symbol?.valueDeclaration;
  if (!declaration?.getSourceFile()) return [];
  const file = declaration.getSourceFile().fileName;
  if (ts.isFunctionDeclaration(declaration)) return [{ file, constant: named.text, name: null }];
  if (!ts.isVariableDeclaration(declaration) || !ts.isSourceFile(declaration.parent.parent.parent)) return [];
  const made = declaration.initializer;
  const first = made && ts.isCallExpression(made) ? made.arguments[0] : undefined;
  return [{ file, constant: declaration.name.getText(), name: first && ts.isStringLiteral(first) ? first.text : null }];
}

/** The row of the call's result, `Promise<Row[]>`. */
function rowOf(checker: ts.TypeChecker, node: ts.CallExpression): readonly RowField[] | null {
  const answer = checker.getAwaitedType(checker.getTypeAtLocation(node));
  const row = answer && checker.getIndexTypeOfType(answer, ts.IndexKind.Number);
  if (!row) return null;
  const fields = checker.getPropertiesOfType(row).map((property) => {
    const shape = shapeOf(checker, checker.getTypeOfSymbolAtLocation(property, node), node);
    return { name: property.name, isOptional: (property.flags & ts.SymbolFlags.Optional) !== 0, ...shape };
  });
  return fields.length === 0 ? null : fields;
}

function valuesOf(checker: ts.TypeChecker, given: ts.Expression | undefined): readonly TypeShape[] | null {
  if (!given) return [];
  if (!ts.isArrayLiteralExpression(given) || given.elements.some(ts.isSpreadElement)) return null;
  return given.elements.map((element) => shapeOf(checker, checker.getTypeAtLocation(element), element));
}

function shapeOf(checker: ts.TypeChecker, type: ts.Type, at: ts.Node): TypeShape {
  const members = type.isUnion() ? type.types : [type];
  const isNull = (one: ts.Type) => (one.flags & (ts.TypeFlags.Null | ts.TypeFlags.Undefined)) !== 0;
  const others = members.filter((one) => !isNull(one) && !(one.flags & ts.TypeFlags.Never));
  const list = others.find((one) => checker.isArrayLikeType(one));
  const element = list && checker.getIndexTypeOfType(list, ts.IndexKind.Number);
  return {
    kinds: new Set(others.map((one) => kindOf(checker, one))),
    isNullable: members.some(isNull) || others.some((one) => (one.flags & ts.TypeFlags.Unknown) !== 0),
    element: element ? shapeOf(checker, element, at) : null,
  };
}

function kindOf(checker: ts.TypeChecker, type: ts.Type): Kind {
  const { flags } = type;
  if (flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.TypeParameter)) return "any";
  if (flags & ts.TypeFlags.StringLike) return "string";
  if (flags & ts.TypeFlags.NumberLike) return "number";
  if (flags & ts.TypeFlags.BooleanLike) return "boolean";
  if (checker.isArrayLikeType(type)) return "array";
  const name = type.symbol?.name;
  if (name === "Date") return "Date";
  return name === "Buffer" || name === "Uint8Array" ? "Buffer" : "object";
}
