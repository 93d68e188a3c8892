import { assert } from 'chai'
import type { Session } from '#mta/smtp/session.ts'
import { createSessionPool, type PooledSession, type SessionPool } from './session-pool.ts'

/** What the pool sees of a session. */
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

describe('sessions that wait', () => {
  let pool: SessionPool
  beforeEach(() => {
    pool = createSessionPool()
  })
  afterEach(() => pool.close())
  const any = (): boolean => true
  const put = (...sessions: PooledSession[]): void => sessions.forEach((session) => pool.release('site', session, 100))

  it('the one that was used last comes first', () => {
    const [one, two] = [pooled('a'), pooled('b')]
    put(one, two)
    assert.deepEqual(
      [pool.acquire('site', null, any), pool.acquire('site', null, any), pool.acquire('site', null, any)],
      [two, one, null],
    )
  })

  it('one of another site or source is none', () => {
    put(pooled('a', 'us'))
    assert.deepEqual([pool.acquire('site', null, any), pool.acquire('other', 'us', any)], [null, null])
    assert.strictEqual(pool.acquire('site', 'us', any)?.host, 'a')
  })

  it('one that will not do is passed over', () => {
    const [fit, unfit] = [pooled('good'), pooled('bad')]
    put(fit, unfit)
    assert.strictEqual(
      pool.acquire('site', null, ({ host }) => host === 'good'),
      fit,
    )
    assert.strictEqual(unfit.fake.hasQuit, false)
  })

  it('where none will do, one is ended to make room', () => {
    const [old, recent] = [pooled('old'), pooled('recent')]
    put(old, recent)
    assert.strictEqual(
      pool.acquire('site', null, () => false),
      null,
    )
    assert.deepEqual([old.fake.hasQuit, recent.fake.hasQuit], [true, false])
  })

  it('one that the server ended is forgotten', () => {
    const gone = pooled('gone')
    put(gone)
    gone.fake.isUsable = false
    assert.strictEqual(pool.acquire('site', null, any), null)
    assert.strictEqual(gone.fake.hasQuit, false)
  })

  it('one that has carried its share is ended', () => {
    const done = pooled('done')
    done.fake.delivered = 100
    put(done)
    assert.deepEqual([done.fake.hasQuit, pool.acquire('site', null, any)], [true, null])
  })
})
