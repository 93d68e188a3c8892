import { assert } from 'chai'
import { openLog } from '#src/platform/log.ts'
import { openDatabase, type OpenDatabase } from '#test/support/database.ts'
import { startSilentProxy, type SilentProxy } from '#test/support/silent-proxy.ts'
import { until } from '#test/support/until.ts'
import { listenForNotifications, type NotificationListener } from './notification-listener.ts'

const log = openLog({ logLevel: 'silent' }, 'test')
const OFTEN = { everyMs: 50, withinMs: 1500 }

describe('the notification listener', () => {
  let database: OpenDatabase
  let proxy: SilentProxy
  let listener: NotificationListener
  let changes = 0

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
  })

  it('stops although the server is silent', async () => {
    proxy.silence('new')
    await until(() => proxy.accepted > 2)
    await listener.stop()
  })
})
