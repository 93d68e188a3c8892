import { assert } from 'chai'
import type { Session } from '#mta/smtp/session.ts'
import { createSessionPool, type PooledSession, type SessionPool } from './connection-slots.ts'

/** The part of a session that the pool uses. */
class FakeSession {
  isUsable = true
  delivered = 1
  hasQuit = false
  quit(): Promise<void> {
    this.hasQuit = true
    this.isUsable = false
    return Promise.resolve()
  }
}

function pooled(host: string, source: string | null = null): PooledSession & { readonly fake: FakeSession } {
  const fake = new FakeSession()
  return {
    fake,
    session: fake as unknown as Session,
    host,
    address: '192.0.2.1',
    source,
    policy: 'opportunistic',
    isVerified: false,
    wasDaneDomain: false,
    idleSinceMs: 0,
  }
}

describe('idle sessions', () => {
  let pool: SessionPool
  beforeEach(() => {
    pool = createSessionPool()
  })
  afterEach(() => pool.close())
  const any = (): boolean => true
  const put = (...sessions: PooledSession[]): void => sessions.forEach((session) => pool.release('site', session, 100))

  it('reuses the most recently used session first', () => {
    const [one, two] = [pooled('a'), pooled('b')]
    put(one, two)
    assert.deepEqual(
      [pool.acquire('site', null, any), pool.acquire('site', null, any), pool.acquire('site', null, any)],
      [two, one, null],
    )
  })

  it('does not reuse a session of another site or source', () => {
    put(pooled('a', 'us'))
    assert.deepEqual([pool.acquire('site', null, any), pool.acquire('other', 'us', any)], [null, null])
    assert.strictEqual(pool.acquire('site', 'us', any)?.host, 'a')
  })

  it('skips a session that the message may not use', () => {
    const [fit, unfit] = [pooled('good'), pooled('bad')]
    put(fit, unfit)
    assert.strictEqual(
      pool.acquire('site', null, ({ host }) => host === 'good'),
      fit,
    )
    assert.strictEqual(unfit.fake.hasQuit, false)
  })

  it('closes an idle session to make room when none may be used', () => {
    const [old, recent] = [pooled('old'), pooled('recent')]
    put(old, recent)
    assert.strictEqual(
      pool.acquire('site', null, () => false),
      null,
    )
    assert.deepEqual([old.fake.hasQuit, recent.fake.hasQuit], [true, false])
  })

  it('removes a session that the server closed', () => {
    const gone = pooled('gone')
    put(gone)
    gone.fake.isUsable = false
    assert.strictEqual(pool.acquire('site', null, any), null)
    assert.strictEqual(gone.fake.hasQuit, false)
  })

  it('closes a session that has reached its message limit', () => {
    const done = pooled('done')
    done.fake.delivered = 100
    put(done)
    assert.deepEqual([done.fake.hasQuit, pool.acquire('site', null, any)], [true, null])
  })
})
