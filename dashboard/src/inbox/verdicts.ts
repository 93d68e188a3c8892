/** What the receivers of captured mail would conclude about its sender, from what the built-in receiver verified. */
import type { CapturedEmail } from '#dashboard/src/api/endpoints.ts'

export interface DkimVerdict {
  readonly domain: string
  readonly selector: string
  readonly algorithm: string
  readonly isPass: boolean
  /** The domain that signed is that of the From header, or shares its domain (relaxed alignment of RFC 7489). */
  readonly isAligned: boolean
  readonly result: string
  readonly comment: string | null
}

export interface Verdicts {
  readonly fromDomain: string | null
  readonly dkim: readonly DkimVerdict[]
  /** A signature that passes is aligned: DMARC passes wherever the mail goes. */
  readonly isDmarcPass: boolean
  /** The domain whose SPF record counts: that of the envelope sender. */
  readonly spfDomain: string | null
}

export function judge({ from, mail_from: sender, dkim }: Pick<CapturedEmail, 'from' | 'mail_from' | 'dkim'>): Verdicts {
  const fromDomain = domainOf(from)
  const signatures = dkim.map(({ domain, selector, algorithm, result, comment }) => ({
    domain,
    selector,
    algorithm,
    result,
    comment,
    isPass: result === 'pass',
    isAligned: fromDomain !== null && isAligned(domain, fromDomain),
  }))
  return {
    fromDomain,
    dkim: signatures,
    isDmarcPass: signatures.some(({ isPass, isAligned: aligned }) => isPass && aligned),
    spfDomain: domainOf(sender),
  }
}

/** Without a list of public suffixes: one is the other, or a subdomain of it. */
function isAligned(signed: string, from: string): boolean {
  const [a, b] = [signed.toLowerCase(), from.toLowerCase()]
  return a === b || a.endsWith(`.${b}`) || b.endsWith(`.${a}`)
}

/** Of `Name <local@domain>` or `local@domain`. */
function domainOf(mailbox: string | null): string | null {
  const address = mailbox === null ? '' : (/<([^<>]*)>\s*$/.exec(mailbox)?.[1] ?? mailbox).trim()
  const at = address.lastIndexOf('@')
  return at === -1 || at === address.length - 1 ? null : address.slice(at + 1).toLowerCase()
}
