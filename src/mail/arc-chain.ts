/** The ARC chain that a forwarded mail arrived with, and what its check found (RFC 8617). */
export interface ArcChain {
  /** The instance of the next set; null: the chain cannot be continued. */
  readonly instance: number | null
  /** `cv=` of the next seal. */
  readonly validation: 'none' | 'pass'
  /** The value of Authentication-Results after the name of the server. */
  readonly results: string
  /** The name of the server that checked. */
  readonly server: string
}
