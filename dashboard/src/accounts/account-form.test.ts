import { assert } from 'chai'
import type { Account } from '#dashboard/src/api/endpoints.ts'
import { formOf, toCreateBody, toUpdateBody } from './account-form.ts'

const ACCOUNT: Account = {
  id: 'a',
  object: 'account',
  type: 'smtp',
  provider: null,
  name: 'Office',
  host: 'smtp.example.com',
  port: 587,
  security: 'starttls',
  username: 'office@example.com',
  addresses: ['office@example.com'],
  status: 'active',
  paused_reason: null,
  paused_at: null,
  connections: 5,
  messages_per_connection: 100,
  messages_per_minute: null,
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
}
const LIMITS = { connections: 5, messages_per_connection: 100, messages_per_minute: null }

describe('form of a connected account', () => {
  it('sends only what changed, so that the server does not ask for the password', () => {
    assert.deepEqual(toUpdateBody(formOf(ACCOUNT), ACCOUNT), LIMITS)
    assert.deepEqual(toUpdateBody({ ...formOf(ACCOUNT), name: 'Shop ' }, ACCOUNT), { name: 'Shop', ...LIMITS })
    assert.deepEqual(toUpdateBody({ ...formOf(ACCOUNT), host: 'mx.example.com', password: 'p' }, ACCOUNT), {
      host: 'mx.example.com',
      password: 'p',
      ...LIMITS,
    })
  })
  it('leaves name and addresses of a new account to the server if they are empty', () => {
    const body = toCreateBody({ ...formOf(null), host: ' smtp.example.com ', username: 'u', password: 'p' })
    assert.notProperty(body, 'name')
    assert.notProperty(body, 'from')
    assert.strictEqual(body.host, 'smtp.example.com')
    assert.strictEqual(body.messages_per_minute, 300)
  })
})
