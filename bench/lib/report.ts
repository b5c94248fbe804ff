import { median } from "./stats";

/** One figure of one system in one round; the same name means the same measurement. */
export interface Sample {
  readonly system: string;
  readonly figure: string;
  readonly value: number;
}

export interface Figure {
  readonly name: string;
  readonly unit: string;
  /** True if more is better, which determines how a ratio is read. */
  readonly better: "more" | "less";
}

/** A Markdown table: a row for each system with the median over the rounds and the ratio of `base` to it. */
export function table(figures: readonly Figure[], samples: readonly Sample[], base: string): string {
  const systems = [...new Set(samples.map(({ system }) => system))];
  const medianOf = (system: string, figure: string) =>
    median(samples.filter((one) => one.system === system && one.figure === figure).map(({ value }) => value));
  const head = ["system", ...figures.flatMap(({ name, unit }) => [`${name} (${unit})`, `${base} ÷ this`])];
  const rows = systems.map((system) => [
    system,
    ...figures.flatMap(({ name }) => {
      const value = medianOf(system, name);
      const ratio = medianOf(base, name) / value;
      return [format(value), system === base || !Number.isFinite(ratio) ? "" : ratio.toFixed(2)];
    }),
  ]);
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function format(value: number): string {
  if (!Number.isFinite(value)) return "–";
  return value >= 100 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3);
}
