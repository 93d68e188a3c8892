import { generateKeyPairSync } from 'node:crypto'
import { assert } from 'chai'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { ConfigError } from '#config/load.ts'
import { sign } from '#mta/compose/sign.ts'
import { composeTexts } from '#src/mime/compose.ts'
import { readOperatorKey, withOperatorKey } from '#src/domains/operator-key.ts'
import type { DomainSigningKey } from '#src/domains/signing-keys.ts'
import { newId } from '#src/platform/id.ts'
import { feedbackFieldsOf, withFeedbackFields, withFeedbackHeaders, type FeedbackRecipient } from './feedback-fields.ts'

const rsa = (modulusLength = 2048): string =>
  generateKeyPairSync('rsa', { modulusLength }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
const SETTINGS = { operatorDkimDomain: 'esp.example', operatorDkimSelector: 'op', operatorDkimKey: rsa() }
const CONFIG = { feedbackSenderId: 'exampleesp', operatorDkimDomain: 'esp.example' }
const WORKSPACE = '01a20314-289b-7000-8f4e-5ae8a3a5d6a1'
const RECIPIENT: FeedbackRecipient = {
  messageId: newId(),
  n: 0,
  workspaceId: WORKSPACE,
  campaignId: null,
  tier: 'bulk',
  submitted: null,
}
const fieldsFor = (config: Partial<typeof CONFIG> | Record<string, null>, change: Partial<FeedbackRecipient> = {}) =>
  feedbackFieldsOf({ config: { ...CONFIG, ...config }, tokenOf: () => 'b-token' }, { ...RECIPIENT, ...change })
const ID = `:01a20314289b70008f4e5ae8a3a5d6a1:bulk:exampleesp`
const DRAFT = {
  messageId: newId(),
  createdAt: new Date(),
  from: { email: 'a@tenant.example', name: null },
  replyTo: null,
  to: [{ email: 'b@c.example', name: null }],
  cc: [],
  subject: 'x',
  html: null,
  text: 'Hello',
  headers: [],
  attachments: [],
  raw: null,
}

describe('fields and signature for feedback loops', () => {
  it('depend on the settings, and forwarded mail and reports have none', () => {
    const token = ['X-Mailstead-Token', 'b-token']
    assert.deepEqual(fieldsFor({}), [token, ['Feedback-ID', ID]])
    assert.deepEqual(fieldsFor({ feedbackSenderId: null }), [token])
    assert.deepEqual(fieldsFor({ operatorDkimDomain: null }), [['Feedback-ID', ID]])
    assert.deepEqual(fieldsFor({ operatorDkimDomain: null, feedbackSenderId: null }), [])
    assert.deepEqual(fieldsFor({}, { submitted: { from: '', isReport: true } }), [])
  })
  it('a Feedback-ID of the sender stays the only one', () => {
    const own = withFeedbackHeaders([['feedback-id', 'own']], fieldsFor({}))
    assert.deepEqual(
      own.map(([name]) => name),
      ['feedback-id', 'X-Mailstead-Token'],
    )
    const composed = composeTexts({ ...DRAFT, headers: [['Feedback-ID', 'own']] })
    const { head } = withFeedbackFields(composed, fieldsFor({}))
    assert.equal(head.match(/feedback-id/gi)?.length, 1)
    assert.match(head, /^X-Mailstead-Token: b-token\r\n/)
  })
  it('the signature of the operator follows those of the domain, and all are valid', async () => {
    const operator = readOperatorKey(SETTINGS)
    assert.ok(operator !== null)
    const tenant: DomainSigningKey = { ...operator, keyId: 't', domain: 'tenant.example' }
    const keys = withOperatorKey([tenant], operator)
    assert.deepEqual(
      keys.map(({ domain }) => domain),
      ['tenant.example', 'esp.example'],
    )
    const complete = withFeedbackFields(composeTexts(DRAFT), fieldsFor({}))
    const { results } = await dkimVerify(await sign(complete, keys), {
      resolver: () => Promise.resolve([[operator.dnsValue]]),
    })
    assert.deepEqual(
      results.map(({ signingDomain, status }) => `${signingDomain} ${status.result}`),
      ['tenant.example pass', 'esp.example pass'],
    )
    assert.match(String(results[1]?.signingHeaders?.keys), /Feedback-ID$/)
  })
  it('a domain of the operator is signed once, and without the settings there is no further signature', () => {
    const operator = readOperatorKey(SETTINGS)
    assert.ok(operator !== null)
    assert.lengthOf(withOperatorKey([{ ...operator, keyId: 'own' }], operator), 1)
    assert.lengthOf(withOperatorKey([operator], null), 1)
    assert.isNull(readOperatorKey({ ...SETTINGS, operatorDkimDomain: null, operatorDkimKey: null }))
  })
  it('a key that cannot sign is refused at the start, without a word of it', () => {
    const ed25519 = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
    for (const operatorDkimKey of ['nonsense', ed25519, rsa(512)])
      assert.throws(
        () => readOperatorKey({ ...SETTINGS, operatorDkimKey }),
        ConfigError,
        /^OPERATOR_DKIM_KEY must be a private RSA key of at least 1024 bits in PEM$/,
      )
  })
})
