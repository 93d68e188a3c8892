/** Names of objects in S3. */
import { UserError } from '#bin/supervisor/user-error.ts'

export interface ObjectName {
  readonly bucket: string
  readonly key: string
}

/** `s3://bucket/folder/name`; `defaultName` follows a name that ends with a slash. Null for another kind of name. */
export function parseObjectName(where: string, defaultName: string): ObjectName | null {
  const [, bucket = '', path = ''] = /^s3:\/\/([^/]*)\/?(.*)$/.exec(where) ?? []
  if (!where.startsWith('s3:')) return null
  const key = path === '' || path.endsWith('/') ? `${path}${defaultName}` : path
  if (!/^[a-z0-9][a-z0-9.-]{1,62}$/.test(bucket) || key === '' || key.endsWith('/'))
    throw new UserError(`${where} is no name of an object in S3.`, 'Write s3://bucket/name.')
  return { bucket, key }
}
