import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { assert } from 'chai'
import { readPassedSockets } from './passed-sockets.ts'

const PID = 4711

describe('sockets that systemd opened', () => {
  const rows: readonly [what: string, env: Record<string, string>, expected: readonly [string, number][]][] = [
    ['none', {}, []],
    ['one', { LISTEN_PID: '4711', LISTEN_FDS: '1', LISTEN_FDNAMES: 'HTTP_PORT' }, [['HTTP_PORT', 3]]],
    [
      'several, in order',
      { LISTEN_PID: '4711', LISTEN_FDS: '2', LISTEN_FDNAMES: 'SUBMISSION_PORT:SUBMISSION_TLS_PORT' },
      [
        ['SUBMISSION_PORT', 3],
        ['SUBMISSION_TLS_PORT', 4],
      ],
    ],
    ['those of another process', { LISTEN_PID: '1', LISTEN_FDS: '1', LISTEN_FDNAMES: 'HTTP_PORT' }, []],
    ['more names than sockets', { LISTEN_PID: '4711', LISTEN_FDS: '1', LISTEN_FDNAMES: 'A:B' }, [['A', 3]]],
    ['a count that is no number', { LISTEN_PID: '4711', LISTEN_FDS: 'x', LISTEN_FDNAMES: 'A' }, []],
  ]
  for (const [what, env, expected] of rows) {
    it(`are read: ${what}`, () => {
      const left = { ...env, OTHER: 'stays' }
      assert.deepEqual([...readPassedSockets(left, PID)], expected)
      assert.deepEqual(left, { OTHER: 'stays' }, 'a child process would inherit the variables')
    })
  }

  it('are refused with one name for two', () => {
    const env = { LISTEN_PID: '4711', LISTEN_FDS: '2', LISTEN_FDNAMES: 'A:A' }
    assert.throws(() => readPassedSockets(env, PID), /two sockets with the name A/)
  })

  it('accept connections in a process that gets them', async () => {
    const listening = createServer().listen(0, '127.0.0.1')
    await once(listening, 'listening')
    const descriptor = Reflect.get(Reflect.get(listening, '_handle') as object, 'fd') as number
    const { port } = listening.address() as AddressInfo
    const program = `
      import { createServer } from 'node:net'
      import { takePassedSocket } from '#src/net/passed-sockets.ts'
      const fd = takePassedSocket('HTTP_PORT')
      if (takePassedSocket('HTTP_PORT') !== null) throw new Error('taken twice')
      createServer((socket) => socket.end('from the child')).listen({ fd })
    `
    const command = 'LISTEN_PID=$$ exec "$0" --input-type=module-typescript -e "$1"'
    const child = spawn('/bin/sh', ['-c', command, process.execPath, program], {
      env: { ...process.env, LISTEN_FDS: '1', LISTEN_FDNAMES: 'HTTP_PORT' },
      stdio: ['ignore', 'inherit', 'inherit', descriptor],
    })
    try {
      listening.close() // this process accepts no more
      const socket = connect(port, '127.0.0.1') // waits in the queue of the socket until the child accepts
      const [text] = (await once(socket, 'data')) as [Buffer]
      assert.strictEqual(text.toString(), 'from the child')
    } finally {
      child.kill('SIGKILL')
    }
  })
})
