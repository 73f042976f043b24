"""A Modbus TCP meter: pymodbus's server with SimDevice, in a thread of its own."""

import asyncio
import threading

from pymodbus.constants import ExcCodes
from pymodbus.server import ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice
from support.meters.ports import find_free_port

REGISTERS = {
    "janitza-umg": (19026, 19060),
    "schneider-iem3000": (3059, 3203),
    "carlo-gavazzi-em": (0x28, 0x34),
}


def encode(model: str, power_w: float, energy_wh: float) -> dict[int, list[int]]:
    """The registers of a model, by address."""
    data = SimData
    power, energy = REGISTERS[model]
    match model:
        case "janitza-umg":
            fields = [
                data(power, values=float(power_w), datatype=DataType.FLOAT32),
                data(energy, values=float(energy_wh), datatype=DataType.FLOAT32),
            ]
        case "schneider-iem3000":
            fields = [
                data(power, values=power_w / 1e3, datatype=DataType.FLOAT32),
                data(energy, values=round(energy_wh), datatype=DataType.INT64),
            ]
        case _:
            fields = [
                data(power, values=round(power_w * 10), datatype=DataType.INT32),
                data(energy, values=round(energy_wh / 100), datatype=DataType.INT32),
            ]
    registers = {field.address: field.build_registers(False) for field in fields}
    if model == "carlo-gavazzi-em":
        return {address: words[::-1] for address, words in registers.items()}
    return registers


class ModbusServer:
    """A running server. `registers` holds what it answers, by unit and address."""

    def __init__(self, registers: dict[int, dict[int, list[int]]], port: int | None = None) -> None:
        self.registers = registers
        self.delay_s = 0.0
        """How long the next answer is held back."""
        self.port = port or find_free_port()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._run(self._start())

    def stop(self) -> None:
        """End the server and all its connections."""
        self._run(self._server.shutdown())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    async def _start(self) -> ModbusTcpServer:
        devices = [
            SimDevice(
                id=unit,
                simdata=[
                    SimData(address, values=words, datatype=DataType.REGISTERS)
                    for address, words in registers.items()
                ],
                action=self._make_action(unit),
            )
            for unit, registers in self.registers.items()
        ]
        server = ModbusTcpServer(devices, address=("127.0.0.1", self.port))
        await server.listen()
        return server

    def _make_action(self, unit: int):
        async def update(
            function_code, start_address, address, count, current_registers, set_values
        ) -> ExcCodes | None:
            words = self.registers[unit][address]
            current_registers[address - start_address : address - start_address + count] = words
            delay_s, self.delay_s = self.delay_s, 0.0
            await asyncio.sleep(delay_s)
            return None

        return update
