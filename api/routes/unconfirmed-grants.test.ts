/** Grants that a provider gave and their owner did not confirm are revoked there, by a real OAuth server. */
import { assert } from 'chai'
import { loadOAuthProviders } from '#config/oauth-providers.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import { openLog } from '#src/platform/log.ts'
import { revokeUnconfirmed } from '#src/providers/unconfirmed-grants.ts'
import { createBrowser } from '#test/support/browser.ts'
import { setUpSignIns, VICTIM } from './oauth.test-data.ts'

describe('a grant that is not confirmed', () => {
  const scene = setUpSignIns()
  const { begin, signIn, confirm, accounts, toProvider, at } = scene
  let offsetMs = 0
  beforeEach(async () => {
    offsetMs = 0
    await scene.api.db.query('DELETE FROM unconfirmed_grants')
  })
  /** The worker's loop, after this time; returns how many grants the provider revoked. */
  async function revokedAfter(ms: number): Promise<number> {
    offsetMs += ms
    const before = scene.oauth.revocations
    const http = createHttpClient(scene.api.config)
    await revokeUnconfirmed(
      {
        db: scene.api.db,
        clock: { now: () => Date.now() + offsetMs },
        encryption: createEncryption(Buffer.alloc(32, 0x5a)),
        log: openLog({ logLevel: 'silent' }, 'test'),
      },
      { providers: loadOAuthProviders(scene.providersFile), http },
    )
    http.close()
    return scene.oauth.revocations - before
  }
  const held = async (): Promise<number> => (await scene.api.db.query('SELECT FROM unconfirmed_grants')).rows.length
  const MINUTE_MS = 60_000

  it('is revoked at the provider at once when its owner declines', async () => {
    const browser = createBrowser()
    const page = await signIn(browser, await begin())
    assert.strictEqual(await revokedAfter(0), 0)
    assert.match((await confirm(browser, page, { decline: '1' })).text, /the access at corp is revoked/i)
    assert.deepEqual([await revokedAfter(0), await held()], [1, 0])
  })
  it('is revoked when it was abandoned, after the time of the sign-in', async () => {
    await signIn(createBrowser(), await begin())
    assert.deepEqual([await revokedAfter(10 * MINUTE_MS), await held()], [0, 1])
    assert.deepEqual([await revokedAfter(2 * MINUTE_MS), await held()], [1, 0])
  })
  it('is revoked when another mailbox signed in than expected', async () => {
    const browser = createBrowser()
    const url = new URL(await toProvider(browser, await begin(`provider=corp&email=other@mailbox.example`)))
    url.searchParams.delete('login_hint')
    const page = await browser.get(at(await scene.oauth.signIn(url.href)))
    assert.match(page.text, /victim@mailbox.example signed in, and other@mailbox.example was expected/)
    assert.strictEqual(await revokedAfter(0), 1)
  })
  it('is not revoked once it is confirmed', async () => {
    const browser = createBrowser()
    await confirm(browser, await signIn(browser, await begin()))
    assert.deepEqual([await accounts(), await held(), await revokedAfter(60 * MINUTE_MS)], [[VICTIM], 0, 0])
  })
  it('stays while an account has the mailbox: the provider may revoke the grant of that one too', async () => {
    const [first, second] = [createBrowser(), createBrowser()]
    await confirm(first, await signIn(first, await begin()))
    await confirm(second, await signIn(second, await begin()), { decline: '1' })
    assert.deepEqual([await revokedAfter(60 * MINUTE_MS), await held()], [0, 0])
  })
  it('stays while another sign-in with the mailbox may be confirmed', async () => {
    const [first, second] = [createBrowser(), createBrowser()]
    const page = await signIn(second, await begin())
    await confirm(first, await signIn(first, await begin()), { decline: '1' })
    assert.strictEqual(await revokedAfter(0), 0)
    await confirm(second, page, { decline: '1' })
    assert.deepEqual([await revokedAfter(0), await held()], [2, 0])
  })
  it('is tried again while the provider does not respond, with increasing delays, and at last given up', async () => {
    const browser = createBrowser()
    await confirm(browser, await signIn(browser, await begin()), { decline: '1' })
    scene.oauth.isUnavailable = true
    assert.strictEqual(await revokedAfter(0), 0)
    scene.oauth.isUnavailable = false
    assert.deepEqual([await revokedAfter(MINUTE_MS / 2), await held()], [0, 1])
    assert.deepEqual([await revokedAfter(MINUTE_MS), await held()], [1, 0])

    const other = createBrowser()
    await confirm(other, await signIn(other, await begin()), { decline: '1' })
    scene.oauth.isUnavailable = true
    for (let attempt = 0; attempt < 12; attempt++) assert.strictEqual(await revokedAfter(5 * 60 * MINUTE_MS), 0)
    scene.oauth.isUnavailable = false
    assert.strictEqual(await held(), 0)
  })
  it('is held encrypted for the worker, and not at all for a provider without revocation', async () => {
    await signIn(createBrowser(), await begin())
    const { rows } = await scene.api.db.query<{ token: Buffer }>('SELECT token FROM unconfirmed_grants')
    const worker = createEncryption(Buffer.alloc(32, 0x5a))
    assert.match(worker.decrypt('unconfirmed-grant', rows[0]?.token ?? Buffer.alloc(0)).toString(), /^[\w-]{20,}$/)
    await scene.api.db.query('DELETE FROM unconfirmed_grants')
    const browser = createBrowser()
    const page = await signIn(browser, await begin('provider=simple'))
    assert.strictEqual(await held(), 0)
    assert.match((await confirm(browser, page, { decline: '1' })).text, /remove it in the settings of your account/)
  })
})
