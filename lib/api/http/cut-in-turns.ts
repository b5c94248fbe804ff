import * as z from "zod";
import type { Permission } from "@/lib/contract";
import { cutAnswer, isShownWhole, shownFields } from "@/lib/contract/shown";
import { mapInTurns } from "@/lib/turns";

/**
 * Returns an answer cut as by `cutAnswer`. Cuts the rows of its lists in turns, so that other requests are served
 * meanwhile.
 * @throws Error for a value that no option of its union describes
 */
export async function cutInTurns(schema: z.ZodType, value: unknown, held: ReadonlySet<Permission>): Promise<unknown> {
  if (value === null || value === undefined || isShownWhole(schema, held)) return value;
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional)
    return cutInTurns(schema.unwrap() as z.ZodType, value, held);
  if (schema instanceof z.ZodArray)
    return mapInTurns(value as unknown[], (row) => cutAnswer(schema.element as z.ZodType, row, held));
  if (!(schema instanceof z.ZodObject)) return cutAnswer(schema, value, held);
  const fields: [string, unknown][] = [];
  for (const [name, field, part] of shownFields(schema, value, held))
    fields.push([name, part ? await cutInTurns(part, field, held) : field]);
  return Object.fromEntries(fields);
}
