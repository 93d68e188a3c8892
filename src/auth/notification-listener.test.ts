import { Writable } from 'node:stream'
import { assert } from 'chai'
import { pino } from 'pino'
import { openDatabase, type OpenDatabase } from '#test/support/database.ts'
import { startSilentProxy, type SilentProxy } from '#test/support/silent-proxy.ts'
import { until } from '#test/support/until.ts'
import { listenForNotifications, type NotificationListener } from './notification-listener.ts'

const OFTEN = { everyMs: 50, withinMs: 1500 }

describe('the notification listener', () => {
  let database: OpenDatabase
  let proxy: SilentProxy
  let listener: NotificationListener
  let changes = 0
  const warnings: string[] = []
  const log = pino(
    { level: 'warn' },
    new Writable({
      write: (line: Buffer, _encoding, done) => {
        warnings.push(line.toString())
        done()
      },
    }),
  )

  before(async () => {
    database = await openDatabase()
    proxy = await startSilentProxy(database.url)
    const onChange = (): void => void changes++
    listener = listenForNotifications({ url: proxy.url, channel: 'news', log, onChange }, OFTEN)
  })
  after(async () => {
    await proxy.stop()
    await database.close()
  })

  it('replaces a connection that went silent, and reports that it may have missed something', async () => {
    await until(() => changes === 1)
    proxy.silence()
    await until(() => changes === 2)
    assert.strictEqual(proxy.accepted, 2)
    await database.db.query('NOTIFY news')
    await until(() => changes === 3)
    assert.match(warnings.join(''), /"channel":"news".*connection lost; it reconnects/)
  })

  it('logs no warning when it is stopped', async () => {
    let isListening = false
    const onChange = (): void => void (isListening = true)
    const other = listenForNotifications({ url: database.url, channel: 'news', log, onChange }, OFTEN)
    await until(() => isListening)
    warnings.length = 0
    await other.stop()
    assert.deepEqual(warnings, [])
  })

  it('stops although the server is silent', async () => {
    proxy.silence('new')
    await until(() => proxy.accepted > 2)
    await listener.stop()
  })
})
