/**
 * Fetches a file that a BIMI record names: the logo, or its mark certificate. The URL is a customer's: only https, only
 * public addresses, no redirects, with limits of time and size. Every failure is a value, with a text that does not say
 * whether a name exists in a private network. Compressed files are unpacked up to the same size.
 */
import { gunzipSync } from 'node:zlib'
import type { HttpClient, HttpFailure, HttpResult } from '#src/net/http-client.ts'

/** `problem` is the end of a sentence that begins with the name of the file. */
export type FetchedFile =
  | { readonly ok: true; readonly bytes: Buffer; readonly contentType: string }
  | { readonly ok: false; readonly problem: string }

export interface BrandFileRequest {
  readonly url: string
  readonly accept: string
  readonly maxBytes: number
}

const TIMEOUT_MS = 5000

export async function fetchBrandFile(http: HttpClient, request: BrandFileRequest): Promise<FetchedFile> {
  const { url, accept, maxBytes } = request
  const headers = { 'User-Agent': 'Mailstead', Accept: accept, 'Accept-Encoding': 'gzip, identity' }
  const got = await http.get(url, { headers, timeoutMs: TIMEOUT_MS, maxBytes })
  const problem = problemOf(got, maxBytes)
  if (!got.ok || problem !== null) return { ok: false, problem: problem ?? '' }
  const isPacked = got.bytes[0] === 0x1f && got.bytes[1] === 0x8b
  const bytes = isPacked ? unpack(got.bytes, maxBytes) : got.bytes
  if (bytes === null) return { ok: false, problem: `cannot be unpacked, or has more than ${maxBytes / 1024} KB` }
  return { ok: true, bytes, contentType: (got.contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '' }
}

/** One text for names that do not exist and addresses that are not allowed: nobody may explore a private network. */
const NOT_FOUND = 'cannot be fetched: its host was not found, or is not allowed'
const FAILURES: Readonly<Record<HttpFailure, string>> = {
  'bad-url': 'cannot be fetched: its URL is not valid',
  forbidden: NOT_FOUND,
  name: NOT_FOUND,
  connect: 'cannot be fetched: its server accepts no connection',
  tls: 'cannot be fetched: its server has no valid TLS certificate',
  timeout: `was not fetched within ${TIMEOUT_MS / 1000} s`,
  broken: 'cannot be fetched: its server closed the connection early',
}

function problemOf(got: HttpResult, maxBytes: number): string | null {
  if (!got.ok) return FAILURES[got.reason]
  const { status, bytes, isComplete, isTimedOut, location } = got
  if (location !== null && status >= 300 && status < 400) return 'redirects: name the final URL in the record'
  if (status !== 200) return `cannot be fetched: its server answered ${status}, not 200`
  if (isTimedOut) return FAILURES.timeout
  if (isComplete) return null
  return bytes.length >= maxBytes ? `has more than ${maxBytes / 1024} KB` : FAILURES.broken
}

function unpack(bytes: Buffer, maxBytes: number): Buffer | null {
  try {
    return gunzipSync(bytes, { maxOutputLength: maxBytes })
  } catch {
    return null
  }
}
