/**
 * Validates the mark certificate (VMC or CMC) that a BIMI record names in `a=`: its chain up to an authority that
 * issues mark certificates, its time, its domain, and the logo in it. The chain is verified first, with the signature
 * of each certificate, because `validateVMC` compares names only. What it then unpacks comes from such an authority.
 * `certificate-revocation.ts` checks its revocation. Loaded at the first certificate, since the packages are large.
 */
import { X509Certificate } from 'node:crypto'

export interface MarkCertificateCheck {
  /** The file in PEM. */
  readonly pem: Buffer
  readonly domain: string
  readonly selector: string
  /** The logo that the record names, unpacked; null: it could not be fetched. */
  readonly logo: Buffer | null
  readonly nowMs: number
}

export type MarkCertificateResult =
  | {
      readonly ok: true
      readonly kind: 'VMC' | 'CMC'
      readonly validUntil: Date
      /** Each certificate is signed by the next one, and the last one is an authority's. */
      readonly chain: readonly X509Certificate[]
    }
  /** `problem` is the end of a sentence that begins with "the mark certificate". */
  | { readonly ok: false; readonly problem: string }

export const MAX_CERTIFICATE_BYTES = 256 * 1024
const MAX_CERTIFICATES = 8
const BLOCK = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g

/** What `validateVMC` reports, in words for the owner of the domain. */
const PROBLEMS: ReadonlyMap<string, string> = new Map([
  ['INVALID_LOGOTYPE_EXT', 'contains no logo'],
  ['MISSING_VMC_LOGO', 'contains no logo'],
  ['INVALID_MEDIATYPE', 'contains a logo that is not SVG'],
  ['INVALID_LOGO_HASH', 'contains a logo that does not match its hash'],
  ['SVG_VALIDATION_FAILED', 'contains a logo that is not SVG Tiny PS'],
  ['VMC_DOMAIN_MISMATCH', 'was issued for another domain'],
  ['BIMI_EXT_KEY_MISSING', 'is not a mark certificate: it lacks the key usage for BIMI'],
  ['CERTIFICATE_VERIFICATION_ERROR', 'or one of its issuers has expired, is not valid yet, or is no authority'],
])

/** `authorities`: their certificates, by default those that the BIMI group lists. */
export async function validateMarkCertificate(
  check: MarkCertificateCheck,
  authorities?: readonly X509Certificate[],
): Promise<MarkCertificateResult> {
  const { pem, domain, selector, logo, nowMs } = check
  const [{ RootStore }, { validateVMC }] = await Promise.all([
    import('@postalsys/vmc'),
    import('mailauth/lib/bimi/index.js'),
  ])
  const rootStore = new RootStore({})
  if (authorities !== undefined) rootStore.rootCerts = [...authorities]
  const chain = readChain(pem)
  if (chain === null) return { ok: false, problem: 'is not a list of certificates in PEM' }
  const path = pathOf(chain, rootStore.rootCerts)
  if (path === null)
    return { ok: false, problem: 'is not signed by an authority for mark certificates, or its chain is incomplete' }
  const files = {
    authorityPath: Buffer.from(chain.map(String).join('')),
    ...(logo === null ? {} : { locationPath: logo }),
  }
  const data = { ...files, status: { header: { selector, d: domain } } }
  const validated = await validateVMC(data as never, { rootStore, now: new Date(nowMs) })
  const authority = validated === false ? undefined : validated.authority
  if (authority?.success !== true || authority.vmc === undefined) {
    const code = authority?.error?.code ?? ''
    return { ok: false, problem: PROBLEMS.get(code) ?? 'cannot be read' }
  }
  if (authority.hashMatch === false)
    return { ok: false, problem: 'contains another logo than the one that the record names' }
  const { type } = authority.vmc as { readonly type?: string }
  const kind = type === 'CMC' ? 'CMC' : 'VMC'
  return { ok: true, kind, validUntil: new Date(chain[0]?.validTo ?? 0), chain: path }
}

/** The certificate of the domain first, then its issuers. Null if the file is something else. */
function readChain(pem: Buffer): X509Certificate[] | null {
  const blocks = pem.toString('latin1').match(BLOCK) ?? []
  if (blocks.length === 0 || blocks.length > MAX_CERTIFICATES) return null
  try {
    return blocks.map((block) => new X509Certificate(block))
  } catch {
    return null
  }
}

/** The chain up to an authority. Null unless each certificate is signed by the next one, and the last one by it. */
function pathOf(
  chain: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): readonly X509Certificate[] | null {
  const last = chain.at(-1)
  if (last === undefined) return null
  const isChain = chain.every((one, i) => {
    const issuer = chain[i + 1]
    return issuer === undefined || isIssuedBy(one, issuer)
  })
  if (!isChain) return null
  if (authorities.some((root) => root.fingerprint512 === last.fingerprint512)) return chain
  const root = authorities.find((one) => isIssuedBy(last, one))
  return root === undefined ? null : [...chain, root]
}

function isIssuedBy(one: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return issuer.ca && one.checkIssued(issuer) && one.verify(issuer.publicKey)
  } catch {
    return false
  }
}
