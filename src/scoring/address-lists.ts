/**
 * Addresses that do not belong to one person: role addresses (RFC 2142, and names that are used like those), and
 * domains that give out disposable addresses. The list of domains is long. It stays in memory as the text that it comes
 * as, one domain per line in order, and is searched by bisection: thousands of contacts are scored, and the process
 * must not stall.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import wildcards from 'disposable-email-domains/wildcard.json' with { type: 'json' }

/** Business, network, support and mail roles (RFC 2142 sections 3 to 5), then common ones. */
const ROLE_NAMES = new Set([
  'info',
  'marketing',
  'sales',
  'support',
  'abuse',
  'noc',
  'security',
  'postmaster',
  'hostmaster',
  'usenet',
  'news',
  'webmaster',
  'www',
  'uucp',
  'ftp',
  'admin',
  'administrator',
  'billing',
  'contact',
  'help',
  'helpdesk',
  'hello',
  'hr',
  'jobs',
  'mail',
  'mailer-daemon',
  'no-reply',
  'noreply',
  'office',
  'orders',
  'press',
  'privacy',
  'root',
  'service',
  'team',
])

/** Ignores a suffix after "+". */
export function isRoleAddress(local: string): boolean {
  return ROLE_NAMES.has(local.toLowerCase().split('+')[0] ?? '')
}

export type IsDisposable = (domain: string) => boolean

/** Loads the list; 2.5 MB. */
export function loadDisposableDomains(): IsDisposable {
  const list = readFileSync(fileURLToPath(import.meta.resolve('disposable-email-domains')), 'utf8')
  const parents = new Set<string>(wildcards)
  return (domain) =>
    hasLine(list, domain) || domain.split('.').some((_, i, labels) => parents.has(labels.slice(i).join('.')))
}

/** Bisects sorted `lines`. Each holds one string in quotes; the first and last line may hold none. */
function hasLine(lines: string, entrySought: string): boolean {
  let [from, to] = [0, lines.length]
  while (from < to) {
    const start = Math.max(from, lines.lastIndexOf('\n', ((from + to) >> 1) - 1) + 1)
    const next = lines.indexOf('\n', start)
    const end = next === -1 ? to : next + 1
    const [, entry = ''] = lines.slice(start, end).split('"')
    if (entry === entrySought) return entrySought !== ''
    if (entry < entrySought) from = end
    else to = start
  }
  return false
}
