import { assert } from 'chai'
import { startRemote } from './remote.ts'

describe('a part in a process of its own', () => {
  it('answers calls and tells errors', async () => {
    const sink = await startRemote('sink')
    const port = await sink.listen()
    assert.ok(port > 0)
    assert.notStrictEqual(sink.pid, process.pid)
    await sink.begin({ from: 0, count: 3, isOwnLetter: false })
    assert.deepEqual(await sink.arrivals(), new Float64Array(3))
    const source = await startRemote('source')
    const order = { port, count: 2, sessions: 1, bytes: 100, sender: 'a@b.example', site: 'c.example' }
    await source.send(order)
    assert.strictEqual(await sink.progress(), 2)
    await sink.end()
    await assert.isRejected(source.send(order), /source: .*ECONNREFUSED/)
    await source.end()
  })

  it('rejects what waits when it is killed', async () => {
    const sink = await startRemote('sink')
    process.kill(sink.pid, 'SIGKILL')
    await assert.isRejected(sink.progress())
    await sink.end()
  })
})
