import { afterAll } from "vitest";
import { killStarted } from "./processes";

// Vitest runs this before each test file, even when files share their modules.
afterAll(killStarted);
