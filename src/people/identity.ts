/** Who signed in at an identity provider, as its client reports it. */
import type { ServerMetadata } from 'openid-client'

export interface Identity {
  readonly issuer: string
  /** Never changes and never belongs to somebody else at this issuer. */
  readonly subject: string
  /** In lower case, and verified by the provider; null if there is none. */
  readonly email: string | null
  readonly name: string | null
}

/** The endpoints of a provider. */
export type ProviderMetadata = ServerMetadata
