/**
 * Finds the registrar of a domain through RDAP (RFC 9083): queries RDAP_URL, which redirects to the registry. Every hop
 * uses the guarded HTTP client, so no redirect reaches a private address. Redirects are limited in number, never lead
 * from https to http, and share one timeout. The response is untrusted: limited in size, validated by a schema,
 * sanitized and truncated. Anything unexpected counts as "not known".
 */
import { z } from 'zod'
import type { HttpClient } from '#src/net/http-client.ts'
import { sanitizeText } from './record-finding.ts'

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

/** `name` is a registrable domain. Null if nobody answers or the response names no registrar. */
export async function findRegistrar(
  outgoing: Pick<HttpClient, 'get'>,
  rdapUrl: string,
  name: string,
): Promise<Registrar | null> {
  const deadline = performance.now() + MAX_MS
  let url = `${rdapUrl}/${name}`
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const timeoutMs = Math.max(1, deadline - performance.now())
    const response = await outgoing.get(url, { headers: HEADERS, timeoutMs, maxBytes: MAX_BYTES })
    if (!response.ok) return null
    if (response.status === 200) return readRegistrar(response.body)
    const next = response.location === null ? null : URL.parse(response.location, url)
    if (
      response.status < 300 ||
      response.status > 399 ||
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
  const plain = sanitizeText(text).trim()
  return plain === '' ? null : plain
}
