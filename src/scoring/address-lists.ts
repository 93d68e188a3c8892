/**
 * Lists of addresses that are less than a person's own: functions (RFC 2142, and names that are used like those) and domains that give out
 * addresses for a few minutes. The list of domains is long; it is kept as the text it comes as: a domain in each line, in order, so that one is found by
 * halves. Contacts are judged by the thousand, and nothing else of the process may wait for that.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import wildcards from 'disposable-email-domains/wildcard.json' with { type: 'json' }

/** Business, network, support and mail (RFC 2142 sections 3 to 5), then what is common. */
const ROLES = new Set([
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

/** What stands behind a plus is the person's own business. */
export function isRole(local: string): boolean {
  return ROLES.has(local.toLowerCase().split('+')[0] ?? '')
}

export type IsDisposable = (domain: string) => boolean

/** Reads the list; 2.5 MB. */
export function loadDisposable(): IsDisposable {
  const list = readFileSync(fileURLToPath(import.meta.resolve('disposable-email-domains')), 'utf8')
  const parents = new Set<string>(wildcards)
  return (domain) =>
    isInLines(list, domain) || domain.split('.').some((_, i, labels) => parents.has(labels.slice(i).join('.')))
}

/** `lines`: in each a string in quotes, or none, which stands before all others or after them. */
function isInLines(lines: string, wanted: string): boolean {
  let [from, to] = [0, lines.length]
  while (from < to) {
    const start = Math.max(from, lines.lastIndexOf('\n', ((from + to) >> 1) - 1) + 1)
    const next = lines.indexOf('\n', start)
    const end = next === -1 ? to : next + 1
    const [, entry = ''] = lines.slice(start, end).split('"')
    if (entry === wanted) return wanted !== ''
    if (entry < wanted) from = end
    else to = start
  }
  return false
}
