import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["src/**/*.test.ts", "scripts/**/*.test.ts"], testTimeout: 20_000 } },
      { test: { name: "contract", include: ["test/contract/**/*.test.ts"], testTimeout: 30_000 } },
      { test: { name: "sim", include: ["test/sim/**/*.test.ts"], testTimeout: 300_000 } },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 180_000,
          // Two cores and real engines: one file at a time keeps deadlines honest.
          fileParallelism: false,
          globalSetup: ["test/e2e/global-setup.ts"],
        },
      },
    ],
  },
});
