/** Tables of test/flows/tls-reports.test.ts: the sessions and failures that a TLS report counts. */
import type { TlsPolicy } from '#mta/security/policy.ts'

export const POLICY = { id: '1', mode: 'enforce', mx: ['*.in.example'], maxAgeSeconds: 86_400 } as const

export const policyOf = (domain: string, sts: TlsPolicy['sts'] = null): TlsPolicy => ({
  domain,
  isRequired: false,
  dane: 'no',
  isPending: false,
  sts,
  stsFailure: null,
  requirement: null,
})

const testing = policyOf('in.example', { ...POLICY, mode: 'testing' })
const session = { host: 'mx.in.example', isEncrypted: true, isAuthorized: true }
export const SESSIONS: readonly (readonly [string, TlsPolicy, typeof session, boolean, string])[] = [
  ['encrypted', policyOf('in.example'), { ...session, isAuthorized: false }, true, 'success'],
  [
    'plain text, nothing offered',
    policyOf('in.example'),
    { ...session, isEncrypted: false },
    false,
    'starttls-not-supported',
  ],
  [
    'plain text after a failed handshake',
    policyOf('in.example'),
    { ...session, isEncrypted: false },
    true,
    'validation-failure',
  ],
  ['testing, all is well', testing, session, true, 'success'],
  [
    'testing, a certificate that enforce would refuse',
    testing,
    { ...session, isAuthorized: false },
    true,
    'validation-failure',
  ],
  [
    'testing, a host that enforce would refuse',
    testing,
    { ...session, host: 'mx.evil.example' },
    true,
    'validation-failure',
  ],
  [
    'a policy that cannot be fetched',
    { ...policyOf('in.example'), stsFailure: { kind: 'failed', code: 'sts-webpki-invalid', text: '' } },
    session,
    true,
    'sts-webpki-invalid',
  ],
]

export const FACTS: readonly (readonly [lines: string[], failure: string, expected: [helo: string, reason: string]])[] =
  [
    [
      ['-- x', 'S: 220-mx.in.example ESMTP', 'S: 220 ready', 'S: 220 go'],
      'the certificate of mx is not valid: CERT_HAS_EXPIRED',
      ['mx.in.example', 'CERT_HAS_EXPIRED'],
    ],
    [
      ['S: 220 mx.in.example'],
      'TLS failed: 80EB:error:0A00010B:SSL routines::wrong version number',
      ['mx.in.example', '80EB:error:0A00010B:SSL routines::wrong version number'],
    ],
    [
      ['S: 220 mx.in.example', '-- connection lost: TLS failed: ECONNRESET by it', '-- trying once more without TLS'],
      '',
      ['mx.in.example', 'ECONNRESET by it'],
    ],
    [['S: 220 \u00e9vil\u001b[2J'], '', ['?vil?[2J', '']],
    [[], 'x'.repeat(500), ['', 'x'.repeat(100)]],
  ]
