import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { noteUser, removeUnusedBundles } from './bundle-users.ts'

const DAY_MS = 86_400_000

describe('the users of a bundle', () => {
  const folder = mkdtempSync('/tmp/mailstead-bundle-users-')
  const children: ChildProcess[] = []
  after(() => {
    for (const child of children) child.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  })
  afterEach(() => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true })
  })

  const bundle = (name: string): string => {
    mkdirSync(join(folder, name), { recursive: true })
    writeFileSync(join(folder, name, 'mailstead.js'), '')
    return join(folder, name)
  }
  const role = async (): Promise<ChildProcess & { pid: number }> => {
    const child = spawn('sleep', ['600'])
    children.push(child)
    await once(child, 'spawn')
    return child as ChildProcess & { pid: number }
  }
  const end = async (child: ChildProcess): Promise<void> => {
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
  const setAge = (path: string, ms: number): void => {
    const time = new Date(Date.now() - ms)
    utimesSync(path, time, time)
  }

  it('keep it, also a role that outlives its supervisor; without them it goes with the next build', async () => {
    const [supervisor, orphan] = [await role(), await role()]
    for (const child of [supervisor, orphan]) assert.isTrue(noteUser(bundle('old'), child.pid))
    removeUnusedBundles(folder, bundle('new'))
    assert.deepEqual(readdirSync(folder), ['new', 'old'])
    await end(supervisor)
    removeUnusedBundles(folder, bundle('new'))
    assert.ok(existsSync(join(folder, 'old/mailstead.js')))
    await end(orphan)
    removeUnusedBundles(folder, bundle('new'))
    assert.deepEqual(readdirSync(folder), ['new'])
  })

  it('are noted once each, and dead ones are removed from the list', async () => {
    const child = await role()
    for (let count = 0; count < 3; count += 1) assert.isTrue(noteUser(bundle('used'), child.pid))
    assert.lengthOf(readdirSync(join(folder, 'used/users')), 1)
    await end(child)
    noteUser(join(folder, 'used'))
    assert.lengthOf(readdirSync(join(folder, 'used/users')), 1)
  })

  it('elsewhere, whose processes are not seen here, count for three days', () => {
    for (const [name, days] of [
      ['a', 2],
      ['b', 4],
    ] as const) {
      mkdirSync(join(bundle(name), 'users'))
      const file = join(folder, name, 'users', 'uses_01234567-4026531836_7_99')
      writeFileSync(file, '')
      setAge(file, days * DAY_MS)
    }
    removeUnusedBundles(folder, bundle('new'))
    assert.deepEqual(readdirSync(folder), ['a', 'new'])
  })

  it('learn that their bundle is gone, or is being removed', async () => {
    assert.isFalse(noteUser(join(folder, 'missing')))
    const child = await role()
    noteUser(bundle('removing'), child.pid)
    const notes = join(folder, 'removing/users')
    const [note = ''] = readdirSync(notes)
    renameSync(join(notes, note), join(notes, note.replace('uses', 'removes')))
    assert.isFalse(noteUser(join(folder, 'removing')))
    await end(child)
    assert.isTrue(noteUser(join(folder, 'removing')), 'the removal was interrupted')
  })

  it('are not needed for the newest bundle, nor for three days for one that nobody has noted', () => {
    for (const [name, days] of [
      ['by-hand', 2],
      ['forgotten', 4],
      ['new', 9],
    ] as const)
      setAge(bundle(name), days * DAY_MS)
    removeUnusedBundles(folder, join(folder, 'new'))
    assert.deepEqual(readdirSync(folder), ['by-hand', 'new'])
  })

  it('do not count for what an interrupted build or removal left behind', () => {
    for (const [name, hours] of [
      ['.build-a', 0],
      ['.build-b', 2],
      ['.removed-c', 2],
    ] as const)
      setAge(bundle(name), hours * 3_600_000)
    removeUnusedBundles(folder, bundle('new'))
    assert.deepEqual(readdirSync(folder), ['.build-a', 'new'])
  })

  it('keep their bundle while other processes build and remove at the same time', async () => {
    const module = join(import.meta.dirname, 'bundle-users.ts')
    const program = `
      const { mkdirSync, writeFileSync, existsSync } = await import('node:fs')
      const { noteUser, removeUnusedBundles } = await import('${module}')
      const bundle = '${join(folder, 'contested')}'
      for (let round = 0; round < 300; round += 1) {
        do mkdirSync(bundle, { recursive: true }) // as a build
        while (!noteUser(bundle))
        removeUnusedBundles('${folder}', 'another')
        if (!existsSync(bundle)) throw new Error('lost in round ' + round)
      }`
    const codes = await Promise.all(
      [1, 2, 3].map(async () => {
        const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: 'inherit' })
        children.push(child)
        const [code] = (await once(child, 'exit')) as [number | null]
        return code
      }),
    )
    assert.deepEqual(codes, [0, 0, 0])
  })
})
