/** Branded ids and units: a node id is no replica id, and seconds are no milliseconds, although both are the same at run time. */
declare const brand: unique symbol;
type Brand<T, B extends string> = T & { readonly [brand]: B };

export type NodeId = Brand<string, "NodeId">;
export type ReplicaId = Brand<string, "ReplicaId">;
export type ProfileName = Brand<string, "ProfileName">;
export type GpuUuid = Brand<string, "GpuUuid">;
export type Millis = Brand<number, "Millis">;
export type Bytes = Brand<number, "Bytes">;

export const nodeId = (s: string): NodeId => s as NodeId;
export const replicaId = (s: string): ReplicaId => s as ReplicaId;
export const profileName = (s: string): ProfileName => s as ProfileName;
export const gpuUuid = (s: string): GpuUuid => s as GpuUuid;
export const millis = (n: number): Millis => n as Millis;
export const bytes = (n: number): Bytes => n as Bytes;

export const plus = (a: Millis, b: Millis): Millis => (a + b) as Millis;

/**
 * Letters, digits, dot, dash and underscore, 1 to 253 of them (the longest host name), a letter or digit first: such a
 * name is safe as a file name, a path segment and an argument.
 */
export const isNodeName = (s: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/.test(s);
