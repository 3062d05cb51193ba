/** What a caller may do: each of these may also do what those before it may. */
const ROLES = ["viewer", "operator", "admin"] as const;
export type Role = (typeof ROLES)[number];

/** Stands for a router and may do nothing but be one. */
const ROUTER = "router";

/** What a token or a certificate may carry. */
export const GRANTED_ROLES = [...ROLES, ROUTER] as const;
export type GrantedRole = (typeof GRANTED_ROLES)[number];

export const isGrantedRole = (text: string): text is GrantedRole => GRANTED_ROLES.some((role) => role === text);

/** Whether what was granted is enough. Routes hold the engines' keys: only routers and admins get them. */
export function mayDo(granted: GrantedRole, least: GrantedRole): boolean {
  if (granted === "admin" || granted === least) return true;
  if (granted === ROUTER || least === ROUTER) return false;
  return ROLES.indexOf(granted) >= ROLES.indexOf(least);
}
