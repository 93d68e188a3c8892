/** A client that may reach this machine, a request, and its result as one word. */
import { cidrs } from '#config/settings/readers.ts'
import type { HttpResult } from './http-client.ts'

export const OPEN = { allowPrivateTargets: cidrs('127.0.0.0/8'), dnsServers: null, isSandbox: false, extraCaFile: null }
export const REQUEST = { headers: { 'content-type': 'application/json' }, body: '{"a":"é"}', timeoutMs: 5000 }

export function reasonOf(posted: HttpResult): string {
  return posted.ok ? `status ${posted.status}` : posted.reason
}
