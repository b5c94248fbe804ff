import pg from "pg";
import type { Statement } from "@/lib/db";

/** What PostgreSQL says of a statement that it has prepared. */
export interface Description {
  readonly parameters: readonly DatabaseType[];
  readonly columns: readonly (DatabaseType & { readonly name: string; readonly isNullable: boolean })[];
}

/** A type by its name in pg_type; domains count as what they are made of. */
export interface DatabaseType {
  readonly type: string;
  readonly isArray: boolean;
}

interface RowDescription {
  readonly fields: readonly { name: string; tableID: number; columnID: number; dataTypeID: number }[];
}

/** The part of pg's connection that speaks the extended protocol, as pg-cursor uses it. */
interface Wire extends NodeJS.EventEmitter {
  parse(query: { text: string; name: string; types: number[] }): void;
  describe(message: { type: "S"; name: string }): void;
  sync(): void;
}

/** Prepares statements one after the other and returns how PostgreSQL describes them. */
export async function describer(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const typeOf = await readTypes(client);
  const nullable = await readNullable(client);
  return {
    close: () => client.end(),
    describe: async (statement: Statement): Promise<Description> => {
      const { parameters, fields } = await prepared(client, statement);
      return {
        parameters: parameters.map(typeOf),
        columns: fields.map(({ name: column, tableID, columnID, dataTypeID }) => ({
          name: column,
          isNullable: nullable.has(`${tableID}.${columnID}`),
          ...typeOf(dataTypeID),
        })),
      };
    },
  };
}

interface Prepared {
  readonly parameters: readonly number[];
  readonly fields: RowDescription["fields"];
}

/** Sends Parse, Describe and Sync, and collects the two descriptions. pg calls its methods. */
class Preparation {
  #parameters: readonly number[] = [];
  #fields: RowDescription["fields"] = [];

  constructor(
    private readonly statement: Pick<Statement, "name" | "text">,
    private readonly done: { resolve(prepared: Prepared): void; reject(error: Error): void },
  ) {}

  submit(wire: Wire): void {
    // Without a name, each statement replaces the last one.
    const { text } = this.statement;
    const name = "";
    wire.once("parameterDescription", (message: { dataTypeIDs: readonly number[] }) => {
      this.#parameters = message.dataTypeIDs;
    });
    wire.parse({ text, name, types: [] });
    wire.describe({ type: "S", name });
    wire.sync();
  }

  handleRowDescription({ fields }: RowDescription): void {
    this.#fields = fields;
  }

  handleError(error: Error): void {
    this.done.reject(new Error(`${this.statement.name}: ${error.message}\n${this.statement.text}`));
  }

  handleReadyForQuery(): void {
    this.done.resolve({ parameters: this.#parameters, fields: this.#fields });
  }
}

const prepared = (client: pg.Client, statement: Statement): Promise<Prepared> =>
  new Promise((resolve, reject) => {
    client.query(new Preparation(statement, { resolve, reject }) as unknown as pg.Submittable);
  });

async function readTypes(client: pg.Client): Promise<(oid: number) => DatabaseType> {
  const { rows } = await client.query<{ oid: number; type: string; is_array: boolean }>(
    `with recursive base as (
       select oid, oid as made_of from pg_type where typtype <> 'd'
       union all select d.oid, b.made_of from pg_type d join base b on b.oid = d.typbasetype where d.typtype = 'd')
     select b.oid::int, coalesce(e.typname, t.typname) as type, t.typcategory = 'A' as is_array
     from base b join pg_type t on t.oid = b.made_of
     left join pg_type a on a.oid = t.typelem and t.typcategory = 'A'
     left join base eb on eb.oid = a.oid left join pg_type e on e.oid = eb.made_of`,
  );
  const known = new Map(rows.map(({ oid, type, is_array }) => [oid, { type, isArray: is_array }]));
  return (oid) => known.get(oid) ?? { type: `oid ${oid}`, isArray: false };
}

/** Columns that may be NULL, as `table.column`. */
async function readNullable(client: pg.Client): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ id: string }>(
    `select attrelid || '.' || attnum as id from pg_attribute join pg_class c on c.oid = attrelid
     where c.relnamespace = 'app'::regnamespace and attnum > 0 and not attnotnull`,
  );
  return new Set(rows.map(({ id }) => id));
}
