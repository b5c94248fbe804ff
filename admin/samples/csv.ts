const CITIES = ["Berlin", "São Paulo", "Kraków", "New York, NY", "大阪", "Quebec"];

/** Returns a table of people as CSV. With `mistakes`, every ninth row has a wrong number of cells. */
export function contactsCsv(rows: number, { mistakes = false } = {}): string {
  const lines = ["id,name,email,city,note"];
  for (let row = 1; row <= rows; row++) {
    const city = quote(CITIES[row % CITIES.length] ?? "");
    const cells = [row, quote(`Person "${row}"`), `person${row}@example.com`, city, row % 5 ? "" : quote("two\nlines")];
    lines.push((mistakes && row % 9 === 0 ? cells.slice(0, 3) : cells).join(","));
  }
  return `${lines.join("\n")}\n`;
}

/** Returns a table of daily figures as CSV. */
export function figuresCsv(rows: number): string {
  const day = (row: number) => new Date(Date.UTC(2015, 0, 1 + row)).toISOString().slice(0, 10);
  const lines = Array.from(
    { length: rows },
    (_, row) => `${day(row)},${(row * 7919) % 1000},${((row * 104_729) % 10_000) / 100}`,
  );
  return `day,visits,revenue\n${lines.join("\n")}\n`;
}

function quote(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
