/** Where a connection is made from. */
export interface Way {
  /** The source's name; null: the system chooses the address. */
  readonly source: string | null
  readonly address: string | null
  readonly family: 4 | 6 | null
  readonly ehloName: string
}
