/**
 * Fetches an MTA-STS policy file from the domain's policy host over HTTPS (RFC 8461 3.3): the certificate is verified,
 * redirects are not followed, and private networks are refused. The number of concurrent fetches and of waiting ones is
 * limited, so a thousand policy hosts that hang delay only the mail of their own domains.
 */
import type { HttpClient, HttpResult } from '#src/net/http-client.ts'
import { createSemaphore } from '#src/concurrency/semaphore.ts'
import { readStsPolicy, type StsPolicy } from './sts-policy.ts'

/** As RFC 8460 4.3 names them. */
type FailureCode = 'sts-policy-fetch-error' | 'sts-policy-invalid' | 'sts-webpki-invalid'
export type StsFetchResult =
  | { readonly kind: 'policy'; readonly policy: Omit<StsPolicy, 'id'> }
  | { readonly kind: 'failed'; readonly code: FailureCode; readonly text: string }

export type FetchPolicy = (domain: string) => Promise<StsFetchResult>

const MAX_BYTES = 65_536
const TIMEOUT_MS = 10_000
const MAX_CONCURRENT = 30
const MAX_WAITING = 1000

export function createStsFetch(outgoing: Pick<HttpClient, 'get'>, port: number): FetchPolicy {
  const withSlot = createSemaphore(MAX_CONCURRENT, MAX_WAITING)
  return async (domain) => {
    const url = `https://mta-sts.${domain}:${port}/.well-known/mta-sts.txt`
    const request = {
      headers: { accept: 'text/plain', 'user-agent': 'Mailstead' },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES + 1,
    }
    const response = await withSlot(() => outgoing.get(url, request))
    return response === null
      ? failed('sts-policy-fetch-error', 'too many policies are being fetched at the same time')
      : readResponse(response)
  }
}

function readResponse(response: HttpResult): StsFetchResult {
  if (!response.ok)
    return failed(response.reason === 'tls' ? 'sts-webpki-invalid' : 'sts-policy-fetch-error', response.detail)
  if (response.status !== 200) return failed('sts-policy-fetch-error', `the policy host answered ${response.status}`)
  if (!/^text\/plain\s*(;|$)/i.test(response.contentType ?? ''))
    return failed('sts-policy-invalid', 'the policy is not text/plain')
  if (Buffer.byteLength(response.body) > MAX_BYTES)
    return failed('sts-policy-invalid', 'the policy is longer than 64 KB')
  const policy = readStsPolicy(response.body)
  return 'problem' in policy ? failed('sts-policy-invalid', policy.problem) : { kind: 'policy', policy }
}

function failed(code: FailureCode, text: string): StsFetchResult {
  return { kind: 'failed', code, text: `the MTA-STS policy cannot be used: ${text}` }
}
