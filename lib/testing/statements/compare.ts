import type { Statement } from "@/lib/db";
import type { Kind, RowField, StatementCall, TypeShape } from "./calls";
import type { DatabaseType, Description } from "./describe";

/** How pg reads the types of the database. Types that are not named are strings. */
const READ_AS: Readonly<Record<string, Kind>> = {
  int2: "number",
  int4: "number",
  int8: "number",
  oid: "number",
  float4: "number",
  float8: "number",
  bool: "boolean",
  timestamptz: "Date",
  date: "Date",
  bytea: "Buffer",
};
const ANY_JSON = new Set(["json", "jsonb"]);

/** Returns in what the caller's row and values differ from what PostgreSQL says of the statement. */
export function compareStatement(call: StatementCall, statement: Statement, described: Description): string[] {
  return [...rowProblems(call, statement, described), ...valueProblems(call, described)];
}

function rowProblems({ row }: StatementCall, statement: Statement, { columns }: Description): string[] {
  if (!row) return [];
  const problems: string[] = [];
  for (const field of row) {
    const column = columns.find(({ name }) => name === field.name);
    if (!column) {
      if (!field.isOptional) problems.push(`${field.name} is declared, and no column`);
      continue;
    }
    const problem = fieldProblem(field, column, statement.answers === true);
    if (problem) problems.push(`${field.name} ${problem}`);
  }
  return problems;
}

function fieldProblem(
  field: RowField,
  column: DatabaseType & { readonly isNullable: boolean },
  answers: boolean,
): string | null {
  if (!fits(field, column, answers)) return `is declared as ${[...field.kinds].join(" | ")}, and is ${nameOf(column)}`;
  if (column.isNullable && !field.isNullable) return "may be null, and is not declared so";
  return null;
}

const nameOf = ({ type, isArray }: DatabaseType): string => (isArray ? `${type}[]` : type);

function fits({ kinds, element }: TypeShape, column: DatabaseType, answers: boolean): boolean {
  if (kinds.has("any")) return true;
  if (!column.isArray && ANY_JSON.has(column.type)) return !kinds.has("Date") && !kinds.has("Buffer");
  if (column.isArray)
    return kinds.has("array") && element !== null && fits(element, { ...column, isArray: false }, answers);
  const read = READ_AS[column.type] ?? "string";
  // Integers of more than 53 bits are read as their text.
  const others = [...kinds].filter((kind) => column.type !== "int8" || kind !== "string");
  return others.length === 1 && others[0] === (read === "Date" && answers ? "string" : read);
}

/** Values may be looser than columns: text is taken for every type, a Date or its text for an instant. */
function valueProblems({ values }: StatementCall, { parameters }: Description): string[] {
  if (!values) return [];
  if (values.length !== parameters.length) return [`${values.length} values for ${parameters.length} parameters`];
  return parameters.flatMap((parameter, at) => {
    const value = values[at];
    return value && accepts(value, parameter) ? [] : [`value $${at + 1} does not fit ${nameOf(parameter)}`];
  });
}

function accepts({ kinds, element }: TypeShape, parameter: DatabaseType): boolean {
  if (kinds.has("any") || kinds.size === 0) return true;
  if (parameter.isArray) return kinds.has("array") && (!element || accepts(element, { ...parameter, isArray: false }));
  if (ANY_JSON.has(parameter.type)) return true;
  const read = READ_AS[parameter.type] ?? "string";
  return [...kinds].every((kind) => kind === read || kind === "string" || (read === "string" && kind === "number"));
}
