/** One process's part of a replica that spans nodes. All ranks of a replica get the same but for what is their own. */
export interface GangPart {
  /** 0 is the head: clients' requests go to it. */
  readonly rank: number;
  /** Nodes, of which each runs one process of the replica. */
  readonly ranks: number;
  /** The head's management address, by which every rank finds it. */
  readonly masterHost: string;
  /** A port on the head where the ranks meet. */
  readonly masterPort: number;
  /** This node's own management address. */
  readonly ownAddress: string;
  /** NCCL_SOCKET_IFNAME for this node, exact, such as "=eth0". Undefined: no interface is known to have the address. */
  readonly ownInterface: string | undefined;
  /** NCCL_IB_HCA for this node, exact, such as "=mlx5_0:1". Undefined: this node has no port on the replica's fabric. */
  readonly hcas: string | undefined;
}
