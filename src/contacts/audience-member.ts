/** A contact as a member of an audience, and the query and result of a page of members. */
import type { ListPosition } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import { CONTACT_COLUMNS, type ContactFields } from './contact-fields.ts'
import type { MemberSort } from './member-sorts.ts'

export interface MemberQuery {
  /** The API key that reads. The pages that it reads belong together. */
  readonly keyId: string
  readonly audienceId: string
  /** From 1. */
  readonly page: number
  readonly limit: number
  readonly sort: MemberSort
  readonly direction: 'asc' | 'desc'
  readonly isSubscribedOnly: boolean
  /** Instead of the page number, as in src/stores/page.ts. */
  readonly at?: ListPosition | null | undefined
}

export interface AudienceMember extends ContactFields {
  readonly score: number | null
  readonly isSubscribed: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Columns for a SELECT in which `c` is `contacts` and `m` is the membership. */
export const MEMBER_COLUMNS = sql`
  ${CONTACT_COLUMNS}, c.score, m.is_subscribed AS "isSubscribed",
  c.created_at AS "createdAt", c.updated_at AS "updatedAt"
`

export interface MemberPage {
  readonly members: readonly AudienceMember[]
  readonly total: number
  /** As in src/stores/page.ts. */
  readonly next?: ListPosition | null
}
