export { audiences } from '#dashboard/src/texts/en/audiences.ts'
