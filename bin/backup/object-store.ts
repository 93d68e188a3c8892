/**
 * Backups in S3 and what is compatible with it. An upload has several parts, of which at most two are in memory; a
 * failure aborts it, so that no object and no parts remain. A part that fails is repeated by the client library. The
 * credentials are those of the settings, else those that AWS' tools find: variables, profiles, the role of the machine.
 */
import { Readable } from 'node:stream'
import { GetObjectCommand, HeadObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { UserError } from '#bin/supervisor/user-error.ts'
import type { Config } from '#config/load.ts'
import type { ObjectName } from './object-name.ts'

/** S3 permits 10,000 parts: 320 GB. */
const PART_BYTES = 32 * 1024 * 1024
const PARTS_AT_ONCE = 2

export async function putObject(config: Config, { bucket, key }: ObjectName, body: Readable): Promise<void> {
  const client = createClient(config)
  try {
    const upload = new Upload({
      client,
      params: { Bucket: bucket, Key: key, Body: body, ContentType: 'application/octet-stream' },
      partSize: PART_BYTES,
      queueSize: PARTS_AT_ONCE,
      leavePartsOnError: false,
    })
    await requireAbsent(client, { bucket, key })
    await upload.done()
  } catch (error) {
    body.destroy(error instanceof Error ? error : new Error(String(error)))
    throw explain(error, { bucket, key })
  } finally {
    client.destroy()
  }
}

export async function openObject(config: Config, { bucket, key }: ObjectName): Promise<Readable> {
  const client = createClient(config)
  try {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }))
    if (!(Body instanceof Readable)) throw new Error('the response has no body')
    Body.once('close', () => client.destroy())
    return Body
  } catch (error) {
    client.destroy()
    throw explain(error, { bucket, key })
  }
}

/** A backup never replaces another one. A key that may only write cannot find out; then it writes. */
async function requireAbsent(client: S3Client, { bucket, key }: ObjectName): Promise<void> {
  const status = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key })).then(
    () => 200,
    (error: { $metadata?: { httpStatusCode?: number } }) => error.$metadata?.httpStatusCode ?? 0,
  )
  if (status === 200)
    throw new UserError(`s3://${bucket}/${key} exists. A backup replaces no object.`, 'Choose another name.')
}

function createClient(config: Config): S3Client {
  const { backupS3Endpoint: endpoint, backupS3Region: region } = config
  const { backupS3AccessKeyId: accessKeyId, backupS3SecretAccessKey: secretAccessKey } = config
  const hasKey = accessKeyId !== null && secretAccessKey !== null
  return new S3Client({
    region,
    // servers of others may not know the newer checksums of S3
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    ...(endpoint === null ? {} : { endpoint, forcePathStyle: true }),
    ...(hasKey ? { credentials: { accessKeyId, secretAccessKey } } : {}),
  })
}

function explain(error: unknown, { bucket, key }: ObjectName): unknown {
  if (!(error instanceof Error) || error instanceof UserError) return error
  const isOfService = '$metadata' in error || 'code' in error || error.name === 'CredentialsProviderError'
  if (!isOfService) return error
  const reason = error.message === error.name ? error.name : `${error.name}: ${error.message}`
  return new UserError(`s3://${bucket}/${key} cannot be used (${reason}).`, 'Check the settings BACKUP_S3_….')
}
