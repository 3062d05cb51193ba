import { err, ok, type Result } from "../core/result.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const REFERENCE = /\$\$?\{[^}]*\}?/g;
const PARTS = /^\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?\}$/s;

/**
 * Puts environment variables into a value: `${NAME}`, or `${NAME:-default}` for one that is unset or empty. `$${` stands
 * for a plain `${`. Each error completes "KEY …".
 */
export function substitute(text: string, env: Environment): Result<string, readonly string[]> {
  const wrong: string[] = [];
  const value = text.replaceAll(REFERENCE, (reference) => {
    if (reference.startsWith("$$")) return reference.slice(1);
    const replaced = look(reference, env);
    if (replaced.ok) return replaced.value;
    wrong.push(replaced.error);
    return "";
  });
  return wrong.length > 0 ? err(wrong) : ok(value);
}

function look(reference: string, env: Environment): Result<string, string> {
  const [, name, fallback] = PARTS.exec(reference) ?? [];
  if (name === undefined) {
    const forms = "${NAME} or ${NAME:-default}, or $${ for the plain sign";
    return err(`holds "${reference}", which is no variable; write ${forms}`);
  }
  const set = Object.hasOwn(env, name) ? env[name] : undefined;
  if (fallback !== undefined) return ok(set === undefined || set === "" ? fallback : set);
  return set === undefined ? err(`needs the environment variable ${name}, which is not set`) : ok(set);
}
