import { assert } from 'chai'
import { startRemote } from './remote.ts'

describe('a remote role', () => {
  it('returns results and errors of calls', async () => {
    const sink = await startRemote('sink')
    const port = await sink.listen()
    assert.ok(port > 0)
    assert.notStrictEqual(sink.pid, process.pid)
    await sink.begin({ from: 0, count: 3, hasNumberedBody: false })
    assert.deepEqual(await sink.arrivals(), new Float64Array(3))
    const source = await startRemote('source')
    const batches = [{ mail: Buffer.from('Subject: x\r\n\r\nx\r\n'), from: 1, count: 2, sessions: 1 }]
    const options = { port, batches, sender: 'a@b.example', site: 'c.example' }
    await source.send(options)
    assert.strictEqual(await sink.progress(), 2)
    await sink.end()
    await assert.isRejected(source.send(options), /source: .*ECONNREFUSED/)
    await source.end()
  })

  it('rejects pending calls when its process is killed', async () => {
    const sink = await startRemote('sink')
    process.kill(sink.pid, 'SIGKILL')
    await assert.isRejected(sink.progress())
    await sink.end()
  })
})
