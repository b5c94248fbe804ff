// A process that migrates: node --import tsx <this file> <adminUrl> <secret> [folder]
import { MigrationError, migrate } from "@/lib/db";

const [adminUrl = "", secret = "", folder] = process.argv.slice(2);
try {
  const { applied } = await migrate({ adminUrl, secret, log: () => {}, ...(folder ? { folder } : {}) });
  process.stdout.write(JSON.stringify(applied));
} catch (error) {
  if (!(error instanceof MigrationError)) throw error;
  process.stderr.write(`${error.reason}: ${error.message}`);
  process.exitCode = 1;
}
