/**
 * TLS reports as other organizations send them (RFC 8460 sections 4 and 5.3), by mail with a DKIM signature, for
 * tests.
 */
import { generateKeyPairSync } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'

const SIGNER_KEYS = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'der' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
/** The TXT record at `s1._domainkey.` of the signing domain. */
export const SIGNER_DKIM_RECORD = `v=DKIM1; k=rsa; s=tlsrpt; p=${SIGNER_KEYS.publicKey.toString('base64')}`
/** The same for any mail. */
export const SIGNER_MAIL_RECORD = `v=DKIM1; k=rsa; p=${SIGNER_KEYS.publicKey.toString('base64')}`

export interface ReportedDay {
  readonly id?: string
  readonly organization?: string
  readonly domain: string
  readonly failures?: number
}

export function tlsReportOf({
  id = 'day-1',
  organization = 'Receiver Inc.',
  domain,
  failures = 3,
}: ReportedDay): Record<string, unknown> {
  return {
    'organization-name': organization,
    'date-range': { 'start-datetime': '2026-04-01T00:00:00Z', 'end-datetime': '2026-04-01T23:59:59Z' },
    'contact-info': 'smtp-tls-reporting@receiver.example',
    'report-id': id,
    policies: [
      {
        policy: {
          'policy-type': 'sts',
          'policy-string': ['version: STSv1', 'mode: testing'],
          'policy-domain': domain,
          'mx-host': '*.sender.example',
        },
        summary: { 'total-successful-session-count': 5326, 'total-failure-session-count': failures },
        'failure-details':
          failures === 0
            ? []
            : [
                {
                  'result-type': 'certificate-expired',
                  'sending-mta-ip': '2001:db8::1',
                  'receiving-mx-hostname': 'mx1.sender.example',
                  'failed-session-count': failures,
                  'failure-reason-code': 'X509_V_ERR_CERT_HAS_EXPIRED',
                },
              ],
      },
    ],
  }
}

export interface TlsReportFields {
  readonly content: Buffer
  readonly from?: string
  readonly type?: string
}

export function tlsReportMessageOf({
  content,
  from = 'tls@receiver.example',
  type = 'application/tlsrpt+gzip',
}: TlsReportFields): Buffer {
  return Buffer.from(
    [
      `From: <${from}>`,
      'To: <tls-reports@bounces.mta.sender.example>',
      'Subject: Report Domain: x Submitter: y Report-ID: <z>',
      'TLS-Report-Domain: x',
      'MIME-Version: 1.0',
      'Content-Type: multipart/report; report-type="tlsrpt"; boundary="t"',
      '',
      '--t',
      'Content-Type: text/plain',
      '',
      'This is an aggregate TLS report.',
      '',
      '--t',
      `Content-Type: ${type}`,
      'Content-Transfer-Encoding: base64',
      '',
      ...(content.toString('base64').match(/.{1,76}/g) ?? []),
      '--t--',
      '',
    ].join('\r\n'),
  )
}

export function gzipJson(report: object): Buffer {
  return gzipSync(JSON.stringify(report))
}

/** `covered`: only so many octets of the body are. */
export async function signMessage(message: Buffer, domain = 'receiver.example', covered?: number): Promise<Buffer> {
  const key = {
    signingDomain: domain,
    selector: 's1',
    privateKey: SIGNER_KEYS.privateKey,
    algorithm: 'rsa-sha256' as const,
  }
  const { signatures, errors } = await dkimSign(message, {
    ...key,
    canonicalization: 'relaxed/relaxed',
    signTime: new Date(),
    signatureData: [{ ...key, ...(covered !== undefined && { maxBodyLength: covered }) }],
  })
  if (errors.length > 0) throw errors[0]?.err ?? new Error('it cannot be signed')
  return Buffer.concat([Buffer.from(signatures), message])
}
