/** Backups in S3 and in files, against a server that speaks the protocol of S3: several parts, errors, no remains. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import S3rver from '@20minutes/s3rver'
import { assert } from 'chai'
import { openSource, openTarget } from '#bin/backup/storage.ts'
import { loadConfig, type Config } from '#config/load.ts'

const BUCKET = 'backups'
/** More than two parts of an upload. */
const LARGE = 70 * 1024 * 1024

describe('the storage of backups', function () {
  this.timeout(120_000)
  let folder: string
  let server: S3rver
  let config: Config
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mailstead-s3-'))
    server = new S3rver({
      address: '127.0.0.1',
      port: 0,
      silent: true,
      directory: folder,
      configureBuckets: [{ name: BUCKET, configs: [] }],
    })
    const { port } = await server.run()
    config = configFor(port)
  })
  after(async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const configFor = (port: number, secret = 'S3RVER'): Config =>
    loadConfig({
      BACKUP_S3_ENDPOINT: `http://127.0.0.1:${port}`,
      BACKUP_S3_ACCESS_KEY_ID: 'S3RVER',
      BACKUP_S3_SECRET_ACCESS_KEY: secret,
    })

  function* bytes(count: number): Generator<Buffer> {
    for (let at = 0; at < count; at += 65_536) yield Buffer.alloc(Math.min(65_536, count - at), at / 65_536)
  }
  async function* failing(): AsyncGenerator<Buffer> {
    yield* bytes(LARGE / 2)
    await Promise.resolve()
    throw new Error('PostgreSQL is gone')
  }
  const openObject = (name: string): ReturnType<typeof openTarget> => openTarget(config, `s3://${BUCKET}/${name}`, 'd')

  it('writes an object in several parts, and reads it again and again', async () => {
    const target = openObject('daily/')
    assert.deepEqual(await target.write(Readable.from(bytes(LARGE))), { bytes: LARGE })
    const source = openSource(config, `s3://${BUCKET}/daily/d`)
    for (let i = 0; i < 2; i++)
      assert.isTrue((await buffer(await source.open())).equals(Buffer.concat([...bytes(LARGE)])))
  })

  it('replaces no object', async () => {
    await openObject('once').write(Readable.from(bytes(10)))
    await assert.isRejected(openObject('once').write(Readable.from(bytes(20))), /exists\. A backup replaces no object/)
  })

  it('leaves no object when the backup fails midway', async () => {
    await assert.isRejected(openObject('broken').write(Readable.from(failing())), /PostgreSQL is gone/)
    await assert.isRejected(openSource(config, `s3://${BUCKET}/broken`).open(), /cannot be used \(NoSuchKey/)
  })

  it('says which object cannot be used, and why', async () => {
    const wrong = { ...config, ...pickS3(configFor(1)) }
    await assert.isRejected(
      openTarget(wrong, `s3://${BUCKET}/x`, 'd').write(Readable.from(bytes(10))),
      /s3:\/\/backups\/x cannot be used \(.*ECONNREFUSED.*BACKUP_S3_/,
    )
    await assert.isRejected(
      openTarget(config, 's3://nowhere/x', 'd').write(Readable.from(bytes(10))),
      /s3:\/\/nowhere\/x cannot be used \(NoSuchBucket/,
    )
    for (const name of ['s3://', 's3://backups', 's3:backups/x', 's3://UPPER/x'])
      assert.throws(() => openTarget(config, name, ''), /is no name of an object in S3/)
  })

  it('ends when S3 fails for good in the middle of an upload', async () => {
    const refusing: Server = createServer((request, response) => {
      request.resume()
      response.writeHead(request.method === 'HEAD' ? 404 : 403, { 'content-type': 'application/xml' })
      response.end('<Error><Code>AccessDenied</Code><Message>no</Message></Error>')
    })
    await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve))
    const { port } = refusing.address() as AddressInfo
    const target = openTarget(configFor(port), `s3://${BUCKET}/x`, 'd')
    await assert.isRejected(target.write(Readable.from(bytes(LARGE))), /AccessDenied: no/)
    await new Promise((resolve) => refusing.close(resolve))
  })

  it('writes a file under its name only when it is complete', async () => {
    const file = join(folder, 'file')
    await assert.isRejected(openTarget(config, file, 'd').write(Readable.from(failing())), /PostgreSQL is gone/)
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('file')),
      [],
    )
    assert.deepEqual(await openTarget(config, file, 'd').write(Readable.from(bytes(1000))), { bytes: 1000 })
    assert.throws(() => openTarget(config, file, 'd'), /exists/)
  })
})

function pickS3({ backupS3Endpoint }: Config): Pick<Config, 'backupS3Endpoint'> {
  return { backupS3Endpoint }
}
