/**
 * The sender of a person who is signed in: they have no key, so the domain of From decides, which must belong to the
 * workspace. The rest is checked as for a key of this domain.
 */
import type { Caller } from '#src/auth/keys.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import type { Mailbox } from '#src/mail/address.ts'
import { sql } from '#src/stores/sql.ts'
import type { ApiContext } from '#api/http/context.ts'

const FIND = sql`
  SELECT id AS "domainId", domain, verification_status AS "domainStatus"
  FROM domains
  WHERE workspace_id = $1 AND domain = $2
`

type FoundDomain = Pick<Caller, 'domainId' | 'domain' | 'domainStatus'>

/** A key is returned as it is. */
export async function bindSender(
  { db }: Pick<ApiContext, 'db'>,
  caller: Caller,
  from: Mailbox | null,
): Promise<Caller | Refusal> {
  if (caller.keyId !== null) return caller
  if (from === null) return invalid([{ path: 'from', message: 'is required' }])
  const domain = from.email.slice(from.email.lastIndexOf('@') + 1).toLowerCase()
  const { rows } = await db.query<FoundDomain>(FIND, [caller.workspaceId, domain])
  const [found] = rows
  if (found === undefined)
    return refuse('FORBIDDEN', `The workspace has no domain ${domain}. Use one of its domains in "from", or add it.`)
  return { ...caller, ...found }
}
