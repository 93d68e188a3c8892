/**
 * Who registered a domain, from RDAP (RFC 9083): asked of RDAP_URL, which redirects to the registry. Each step goes through the guarded
 * door, so a redirect reaches no private address; there are few of them, none from https to http, and all have one time. What comes back
 * is of a stranger: bounded in size, read by a schema, cut and cleaned before it is stored. Anything unexpected is "not known".
 */
import { z } from 'zod'
import type { Outgoing } from '#src/net/http-client.ts'
import { tame } from './record-finding.ts'

export interface Registrar {
  readonly name: string | null
  readonly ianaId: string | null
}

const MAX_REDIRECTS = 3
const MAX_BYTES = 256 * 1024
const MAX_MS = 10_000
const HEADERS = { accept: 'application/rdap+json, application/json' }

const entity = z.object({
  roles: z.array(z.string()).catch([]),
  vcardArray: z
    .tuple([z.string(), z.array(z.unknown())])
    .optional()
    .catch(undefined),
  publicIds: z.array(z.object({ type: z.string(), identifier: z.coerce.string() })).catch([]),
})
const answer = z.object({ entities: z.array(z.unknown()) })

/** `name` is a registrable domain. Null when nobody answered, or the answer says nothing. */
export async function findRegistrar(
  outgoing: Pick<Outgoing, 'get'>,
  rdapUrl: string,
  name: string,
): Promise<Registrar | null> {
  const endsAt = performance.now() + MAX_MS
  let url = `${rdapUrl}/${name}`
  for (let steps = 0; steps <= MAX_REDIRECTS; steps++) {
    const timeoutMs = Math.max(1, endsAt - performance.now())
    const got = await outgoing.get(url, { headers: HEADERS, timeoutMs, maxBytes: MAX_BYTES })
    if (!got.ok) return null
    if (got.status === 200) return readRegistrar(got.body)
    const next = got.location === null ? null : URL.parse(got.location, url)
    if (
      got.status < 300 ||
      got.status > 399 ||
      next === null ||
      (url.startsWith('https:') && next.protocol !== 'https:')
    )
      return null
    url = next.href
  }
  return null
}

function readRegistrar(body: string): Registrar | null {
  const parsed = answer.safeParse(parse(body))
  const entities = parsed.success ? parsed.data.entities : []
  const registrar = entities
    .map((one) => entity.safeParse(one))
    .find(({ data }) => data?.roles.includes('registrar'))?.data
  if (registrar === undefined) return null
  // jCard (RFC 7095 3.3): [name, parameters, type, value]
  const full = registrar.vcardArray?.[1].find((property) => Array.isArray(property) && property[0] === 'fn')
  const ianaId = registrar.publicIds.find(({ type }) => /^iana registrar id$/i.test(type))?.identifier
  const found = { name: clean(Array.isArray(full) ? full[3] : null), ianaId: clean(ianaId) }
  return found.name === null && found.ianaId === null ? null : found
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return null
  }
}

function clean(text: unknown): string | null {
  if (typeof text !== 'string') return null
  const plain = tame(text).trim()
  return plain === '' ? null : plain
}
