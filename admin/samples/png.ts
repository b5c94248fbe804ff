import { deflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const RGB_8_BIT = Buffer.from([8, 2, 0, 0, 0]);

/** Returns a valid square PNG whose pattern follows from `seed`. */
export function paintPng(side: number, seed: number): Buffer {
  const rows = Buffer.alloc(side * (1 + side * 3));
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      const at = y * (1 + side * 3) + 1 + x * 3;
      rows[at] = (x * seed + y) % 256;
      rows[at + 1] = (y * seed + x * y) % 256;
      rows[at + 2] = (seed * 13 + x + y * 3) % 256;
    }
  }
  const size = Buffer.alloc(8);
  size.writeUInt32BE(side, 0);
  size.writeUInt32BE(side, 4);
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", Buffer.concat([size, RGB_8_BIT])),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(kind: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

// `zlib.crc32` is newer than the oldest supported version of Node.js.
function crc32(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of data) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
