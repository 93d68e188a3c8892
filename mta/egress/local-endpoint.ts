/** The local end of a connection: the address that it leaves from, and the name in EHLO. */
export interface LocalEndpoint {
  /** The source's name; null: the system chooses the address. */
  readonly source: string | null
  /** Null: the system chooses. */
  readonly address: string | null
  readonly family: 4 | 6 | null
  readonly ehloName: string
}
