import { assert } from 'chai'
import { checkHostedMail } from './hosted-mail.ts'

const CONFIG = {
  isSandbox: false,
  hostedMailUrl: null,
  publicUrl: 'https://mail.op.example',
  trackingUrl: 'https://t.op.example',
  subscribeBaseUrl: 'https://mail.op.example',
}

describe('doctor: hosted mail', () => {
  it('warns without a host of its own, and with one that something else uses', () => {
    const none = checkHostedMail(CONFIG)
    assert.deepEqual([none.status, /t\.op\.example, sandboxed/.test(none.detail)], ['warning', true])
    assert.match(none.todo, /HOSTED_MAIL_URL/)
    const shared = checkHostedMail({ ...CONFIG, hostedMailUrl: 'https://mail.op.example' })
    assert.deepEqual([shared.status, /PUBLIC_URL and SUBSCRIBE_BASE_URL/.test(shared.detail)], ['warning', true])
  })
  it('is content with a host of its own, and in the sandbox', () => {
    assert.strictEqual(checkHostedMail({ ...CONFIG, hostedMailUrl: 'https://op-mail.example' }).status, 'ok')
    assert.strictEqual(checkHostedMail({ ...CONFIG, isSandbox: true }).status, 'ok')
  })
})
