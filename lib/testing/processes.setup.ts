import { afterAll } from "vitest";
import { killStarted } from "./processes";

// Vitest runs this before each file of tests, also where files share their modules.
afterAll(killStarted);
