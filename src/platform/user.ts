import { homedir } from "node:os";

/** The user's own folder: HOME, else what the system's user list says. */
export const homeFolder = (env: Readonly<Record<string, string | undefined>>): string => env["HOME"] || homedir();

/** Whether this process may write where the system keeps its files. */
export const isRoot = (): boolean => process.getuid?.() === 0;
